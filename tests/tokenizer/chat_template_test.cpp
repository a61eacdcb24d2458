#include "tokenizer/chat_template.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/tokenizer/fixture.hpp"

namespace glimmer {

namespace {

constexpr std::string_view today = "2026-09-01";
const std::string recipients = "\n\n# Valid recipients: \"self\", \"user\".<|eot|>";
const std::string default_system =
    "<|begin_of_text|><|start|>system<|message|>You are a helpful AI assistant."
    "\nKnowledge cutoff: 2026-01-04.\nCurrent date: 2026-09-01.\n\nReasoning strength: high." +
    recipients;

content_part text(std::string words) {
  return {content_part::kind::text, std::move(words)};
}

chat_message message(message_role role, std::string words) {
  chat_message out;
  out.role = role;
  out.content.push_back(text(std::move(words)));
  return out;
}

chat_message user(std::string words) {
  return message(message_role::user, std::move(words));
}

chat_message system(std::string words) {
  return message(message_role::system, std::move(words));
}

chat_message assistant(std::string words, std::string_view reasoning = {}) {
  chat_message out = message(message_role::assistant, std::move(words));
  out.reasoning = reasoning;
  return out;
}

chat_message calling(std::vector<std::pair<std::string, std::string>> names_and_arguments) {
  chat_message out;
  out.role = message_role::assistant;
  for (auto& [name, arguments] : names_and_arguments) {
    const std::string id = "id_" + std::to_string(out.calls.size());
    out.calls.push_back({id, name, test::parse_json(arguments)});
  }
  return out;
}

chat_message result_of(std::string_view id, std::string words) {
  chat_message out = message(message_role::tool, std::move(words));
  out.call_id = id;
  return out;
}

chat_prompt chat(std::vector<chat_message> messages) {
  chat_prompt out;
  out.messages = std::move(messages);
  out.add_generation_prompt = false;
  return out;
}

std::string rendered(const chat_prompt& prompt) {
  return to_text(render_chat(prompt, today)).text;
}

/// What follows the default system block.
std::string turns(const chat_prompt& prompt) {
  const std::string all = rendered(prompt);
  BOOST_REQUIRE(all.starts_with(default_system));
  return all.substr(default_system.size());
}

std::string call_text(const std::string& name, std::string_view parameters) {
  return "<|start|>assistant to=" + name +
         "<|message|><atem:function_calls>\n<atem:invoke name=\"" + name + "\">\n" +
         std::string{parameters} + "</atem:invoke>\n</atem:function_calls>";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(chat_layout)

BOOST_AUTO_TEST_CASE(an_empty_chat_is_the_default_block_and_the_opening_of_the_answer) {
  BOOST_TEST(rendered(chat_prompt{}) == default_system + "<|start|>assistant");
  chat_prompt given;
  given.knowledge_cutoff = "2025-05-05";
  given.current_date = "2026-12-24";
  given.reasoning_strength = "low";
  const std::string all = rendered(given);
  BOOST_TEST(
      all.find("cutoff: 2025-05-05.\nCurrent date: 2026-12-24.\n\nReasoning strength: low.") !=
      all.npos);
}

BOOST_AUTO_TEST_CASE(without_a_clock_there_is_no_date_line) {
  const std::string all = to_text(render_chat(chat_prompt{}, "")).text;
  BOOST_TEST(all.find("2026-01-04.\n\nReasoning") != all.npos);
}

BOOST_AUTO_TEST_CASE(any_system_message_replaces_the_default_block_and_keeps_its_place) {
  BOOST_TEST(rendered(chat({user("a"), system("S"), system("")})) ==
             "<|begin_of_text|><|start|>user<|message|>a<|eot|>"
             "<|start|>system<|message|>S\n\nReasoning strength: high." +
                 recipients + "<|start|>system<|message|>\n\nReasoning strength: high." +
                 recipients);
}

BOOST_AUTO_TEST_CASE(effort_in_a_system_message_becomes_strength_and_then_needs_no_line) {
  const auto is = [](const std::string& given, const std::string& expected) {
    BOOST_TEST(rendered(chat({system(given)})) ==
               "<|begin_of_text|><|start|>system<|message|>" + expected + recipients);
  };
  const std::string line = "\n\nReasoning strength: high.";
  is("Reasoning effort: low. REASONING EFFORT", "Reasoning strength: low. REASONING STRENGTH");
  is("Reasoning Effort and reasoning effort", "Reasoning Strength and reasoning strength");
  is("rEASONING sTRENGTH", "rEASONING sTRENGTH");
  is("reasoning  effort", "reasoning  effort" + line);
  is("REASONING effort", "REASONING effort" + line);

  chat_prompt parts = chat({system("Reasoning ")});
  parts.messages[0].content.push_back(text("effort"));
  const std::string all = rendered(parts);
  BOOST_TEST(all.find("Reasoning strength\n\n# Valid") != all.npos);
}

BOOST_AUTO_TEST_CASE(the_effort_of_a_user_is_left_alone) {
  BOOST_TEST(turns(chat({user("Reasoning effort?")})) ==
             "<|start|>user<|message|>Reasoning effort?<|eot|>");
}

BOOST_AUTO_TEST_CASE(media_keep_their_place_and_their_origin) {
  chat_prompt prompt = chat({user(" a ")});
  prompt.messages[0].content.push_back({content_part::kind::image, "data:x"});
  prompt.messages[0].content.push_back({content_part::kind::video, "http://y"});
  prompt.messages[0].content.push_back(text("b"));
  BOOST_TEST(turns(prompt) == "<|start|>user<|message|> a <|patch|><|video|>b<|eot|>");
  const prompt_pieces laid_out = render_chat(prompt, today);
  const media_placeholder* image = nullptr;
  for (const auto& piece : laid_out.pieces()) {
    if (image == nullptr) image = std::get_if<media_placeholder>(&piece);
  }
  BOOST_REQUIRE(image != nullptr);
  BOOST_TEST(image->url == "data:x");
  BOOST_TEST(image->message == 0u);
  BOOST_TEST(image->part == 1u);
}

BOOST_AUTO_TEST_CASE(reasoning_is_a_message_of_its_own_and_the_answer_always_follows) {
  BOOST_TEST(turns(chat({assistant("A", "R"), assistant("", "R")})) ==
             "<|start|>assistant to=self<|message|>R<|eom|>"
             "<|start|>assistant to=user<|message|>A<|eot|>"
             "<|start|>assistant to=self<|message|>R<|eom|>"
             "<|start|>assistant to=user<|message|><|eot|>");
}

BOOST_AUTO_TEST_CASE(recipient_and_end_of_turn_decide_how_a_message_ends) {
  const auto ending = [](std::optional<std::string> recipient, std::optional<bool> end_turn) {
    chat_message m = assistant("A");
    m.recipient = std::move(recipient);
    m.end_turn = end_turn;
    const std::string all = turns(chat({m}));
    return all.substr(all.find("to="));
  };
  BOOST_TEST(ending({}, {}) == "to=user<|message|>A<|eot|>");
  BOOST_TEST(ending({}, false) == "to=user<|message|>A<|eom|>");
  BOOST_TEST(ending("self", {}) == "to=self<|message|>A<|eom|>");
  BOOST_TEST(ending("self", true) == "to=self<|message|>A<|eot|>");
}

BOOST_AUTO_TEST_CASE(calls_are_messages_and_their_values_are_spelled_by_kind) {
  chat_message m =
      calling({{"f", R"({"s":" \"x\" <a>","n":1.50,"t":true,"o":{"k":[1,"v"]},"z":null})"},
               {"ns.g", "{}"}});
  m.content.push_back(text("dropped"));
  m.reasoning = "R";
  const std::string f =
      call_text("f",
                "<atem:parameter name=\"s\"> \"x\" <a></atem:parameter>\n"
                "<atem:parameter name=\"n\">1.5</atem:parameter>\n"
                "<atem:parameter name=\"t\">true</atem:parameter>\n"
                "<atem:parameter name=\"o\">{\"k\": [1, \"v\"]}</atem:parameter>\n"
                "<atem:parameter name=\"z\">null</atem:parameter>\n");
  const std::string head =
      "<|start|>assistant to=self<|message|>R<|eom|>" + f + "<|eom|>" + call_text("ns.g", "");
  BOOST_TEST(turns(chat({m})) == head + "<|eot|>");
  BOOST_TEST(turns(chat({m, user("u")})) == head + "<|eot|><|start|>user<|message|>u<|eot|>");
  BOOST_TEST(turns(chat({m, assistant("A")})) ==
             head + "<|eom|><|start|>assistant to=user<|message|>A<|eot|>");
}

BOOST_AUTO_TEST_CASE(a_result_is_named_after_itself_or_its_call_or_its_id) {
  const auto named = [](chat_message m) {
    const std::string all =
        turns(chat({calling({{"early", "{}"}}), std::move(m), calling({{"late", "{}"}})}));
    const std::size_t from = all.find("<|start|>tool");
    return all.substr(from, all.find("<|eot|>", from) - from);
  };
  const auto expected = [](const std::string& name) {
    return "<|start|>tool " + name + "<|message|><tool_output name=\"" + name +
           "\">\nx\n</tool_output>";
  };
  BOOST_TEST(named(result_of("id_0", "x")) == expected("late"));
  BOOST_TEST(named(result_of("id_9", "x")) == expected("id_9"));
  chat_message m = result_of("id_0", "x");
  m.name = "own";
  BOOST_TEST(named(m) == expected("own"));
  BOOST_TEST(named(message(message_role::tool, "x")) == expected(""));
}

BOOST_AUTO_TEST_CASE(tools_are_listed_in_every_system_block) {
  chat_prompt prompt = chat({system("S")});
  prompt.tools = {{"fs.read", test::parse_json("\"R\""), test::parse_json(R"({"type":"object"})")},
                  {"clock", json{}, json{}},
                  {"fs.write", json{}, json{}}};
  prompt.namespace_descriptions = {{"fs", "Files \"here\""}};
  const std::string all = rendered(prompt);
  const std::string lines =
      "// Tool metadata\n{\"name\": \"fs\", \"description\": \"Files \\\"here\\\"\"}\n"
      "{\"name\": \"clock\", \"description\": \"\"}\n// Function schemas\n"
      "{\"name\": \"fs.read\", \"description\": \"R\", \"parameters\": {\"type\": \"object\"}}\n"
      "{\"name\": \"clock\", \"description\": null, \"parameters\": null}\n"
      "{\"name\": \"fs.write\", \"description\": null, \"parameters\": null}\n\nHere's an example";
  BOOST_TEST(all.find(lines) != all.npos, all);
  BOOST_TEST(
      all.starts_with("<|begin_of_text|><|start|>system<|message|>S\n\nReasoning strength: "
                      "high.\n\nIn this environment you have access"));
  BOOST_TEST(
      all.ends_with("</atem:function_calls>\n\n# Valid recipients: \"self\", \"fs.*\", "
                    "\"clock.*\", \"user\".<|eot|>"));
}

BOOST_AUTO_TEST_CASE(the_last_answer_can_be_left_open) {
  const auto open = [](chat_message last, prompt_end expected) {
    chat_prompt prompt = chat({assistant("first"), std::move(last)});
    prompt.continue_final_message = true;
    const prompt_pieces laid_out = render_chat(prompt, today);
    BOOST_TEST((laid_out.end == expected));
    const std::string all = to_text(laid_out).text.substr(default_system.size());
    const std::string first = "<|start|>assistant to=user<|message|>first<|eot|>";
    BOOST_REQUIRE(all.starts_with(first));
    return all.substr(first.size());
  };
  BOOST_TEST(open(assistant("A"), prompt_end::content) == "<|start|>assistant to=user<|message|>A");
  BOOST_TEST(open(assistant("", "R"), prompt_end::reasoning) ==
             "<|start|>assistant to=self<|message|>R");
  BOOST_TEST(open(assistant("A", "R"), prompt_end::content) ==
             "<|start|>assistant to=self<|message|>R<|eom|>"
             "<|start|>assistant to=user<|message|>A");
}

BOOST_AUTO_TEST_CASE(the_end_of_the_prompt_says_who_writes_next) {
  BOOST_TEST((render_chat(chat({user("a")}), today).end == prompt_end::closed));
  BOOST_TEST((render_chat(chat_prompt{}, today).end == prompt_end::header));
}

BOOST_AUTO_TEST_CASE(text_runs_between_control_tokens_are_whole) {
  const auto laid_out = render_chat(chat({system("S"), user("U"), assistant("A", "R")}), today);
  bool text_before = false;
  for (const auto& piece : laid_out.pieces()) {
    const auto* run = std::get_if<std::string>(&piece);
    BOOST_TEST(!(run != nullptr && text_before));
    BOOST_TEST((run == nullptr || !run->empty()));
    text_before = run != nullptr;
  }
}

BOOST_AUTO_TEST_CASE(nothing_from_outside_becomes_a_control_token) {
  const tokenizer& tokens = *test::release_like();
  std::string forged;
  for (const token_id id : tokens.words().special_ids()) {
    forged += tokens.words().special_spelling(id);
  }
  chat_message call = calling({{forged, "{}"}});
  call.reasoning = forged;
  std::string arguments = "{";
  append_json_string(arguments, forged);
  arguments += ":";
  append_json_string(arguments, forged);
  call.calls[0].arguments = test::parse_json(arguments + "}");
  chat_message result = result_of("id_0", forged);
  chat_message answer = assistant(forged, forged);
  answer.recipient = forged;
  chat_prompt prompt = chat({system(forged), user(forged), call, result, answer});
  std::string quoted;
  append_json_string(quoted, forged);
  prompt.tools = {{forged, test::parse_json(quoted), test::parse_json(arguments + "}")}};
  prompt.namespace_descriptions = {{forged, forged}};
  prompt.reasoning_strength = forged;
  prompt.current_date = forged;
  prompt.knowledge_cutoff = forged;

  for (const bool with_system : {true, false}) {
    if (!with_system) prompt.messages.erase(prompt.messages.begin());
    const prompt_pieces laid_out = render_chat(prompt, today);
    const auto ids = to_tokens(laid_out, tokens);
    BOOST_REQUIRE(ids.has_value());
    std::vector<token_id> expected, seen;
    for (const auto& piece : laid_out.pieces()) {
      if (const auto* c = std::get_if<control_token>(&piece)) expected.push_back(tokens.id(*c));
    }
    for (const token_id id : *ids) {
      if (tokens.words().is_special(id)) seen.push_back(id);
    }
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
    const prompt_text readable = to_text(laid_out);
    BOOST_TEST(tokens.decode(*ids, special_text::spelled) == readable.text);
    BOOST_TEST(readable.literal_spans.size() % tokens.words().special_ids().size() == 0u);
    BOOST_TEST(!readable.literal_spans.empty());
  }
}

BOOST_AUTO_TEST_CASE(literal_spans_mark_what_only_looks_like_a_token) {
  const prompt_text shown =
      to_text(render_chat(chat({user("<|eot|><| x|><||><|a_1|<|start|>>")}), today));
  std::vector<std::string> spans;
  for (const auto& [from, to] : shown.literal_spans) {
    spans.push_back(shown.text.substr(from, to - from));
  }
  BOOST_TEST(spans == (std::vector<std::string>{"<|eot|>", "<|start|>"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(random_chats_encode_to_what_they_show) {
  const tokenizer& tokens = *test::release_like();
  test::text_source source{99};
  for (int round = 0; round < 150; ++round) {
    chat_prompt prompt;
    for (std::size_t i = source.number(6); i > 0; --i) {
      const auto role = static_cast<message_role>(source.number(4));
      chat_message m = message(role, source.text(20));
      if (source.number(2) == 0) m.reasoning = source.text(20);
      if (role == message_role::assistant && source.number(3) == 0) {
        m.calls.push_back({"id", source.text(5), test::parse_json("{\"a\": [1]}")});
      }
      if (role == message_role::tool) m.call_id = source.number(2) == 0 ? "id" : source.text(3);
      prompt.messages.push_back(std::move(m));
    }
    prompt.continue_final_message = source.number(4) == 0;
    const prompt_pieces laid_out = render_chat(prompt, today);
    const auto ids = to_tokens(laid_out, tokens);
    BOOST_REQUIRE(ids.has_value());
    BOOST_REQUIRE(ids->front() == tokens.id(control_token::begin_of_text));
    BOOST_REQUIRE(tokens.decode(*ids, special_text::spelled) == to_text(laid_out).text);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
