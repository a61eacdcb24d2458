#include <boost/test/unit_test.hpp>
#include <string>

#include "protocol/openai/chat_messages.hpp"

namespace glimmer {

namespace {

json parsed(std::string_view text) {
  auto value = json::parse(text);
  BOOST_REQUIRE_MESSAGE(value.has_value(), text);
  return *value;
}

chat_prompt prompt_of(std::string_view body) {
  auto chat = parse_chat_prompt(parsed(body));
  BOOST_REQUIRE_MESSAGE(chat.has_value(), (chat ? "" : chat.error().text) << " in " << body);
  return *chat;
}

/// The conversation whose only message is `message`.
chat_message message_of(std::string_view message) {
  return prompt_of("{\"messages\":[" + std::string{message} + "]}").messages.at(0);
}

/// The tools of a request with the list `tools`.
std::vector<tool_definition> tools_of(std::string_view tools) {
  return prompt_of("{\"messages\":[],\"tools\":" + std::string{tools} + "}").tools;
}

std::string written(const json& value) {
  std::string out;
  json_writer{out}.value(value);
  return out;
}

/// The arguments of a call in the history, as written in the request and as they are rendered.
std::string arguments_of(std::string_view arguments) {
  return written(message_of(R"({"role":"assistant","tool_calls":[{"id":"c","type":"function",)"
                            R"("function":{"name":"f","arguments":)" +
                            std::string{arguments} + "}}]}")
                     .calls.at(0)
                     .arguments);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(openai_chat_messages_test)

BOOST_AUTO_TEST_CASE(every_role_of_the_api_finds_its_place) {
  const auto role = [](std::string name) {
    return message_of(R"({"content":"x","role":")" + name + "\"}").role;
  };
  BOOST_TEST((role("system") == message_role::system));
  BOOST_TEST((role("developer") == message_role::system));
  BOOST_TEST((role("user") == message_role::user));
  BOOST_TEST((role("assistant") == message_role::assistant));
  BOOST_TEST((role("tool") == message_role::tool));
  BOOST_TEST((role("function") == message_role::tool));
}

BOOST_AUTO_TEST_CASE(content_is_a_string_parts_or_null) {
  BOOST_TEST(message_of(R"({"role":"user","content":"  a\n"})").content.at(0).text == "  a\n");
  BOOST_TEST(message_of(R"({"role":"user","content":null})").content.empty());
  BOOST_TEST(message_of(R"({"role":"user"})").content.empty());
  const auto parts = message_of(R"({"role":"user","content":["a",{"type":"text","text":"b"},
      {"type":"input_text","text":"c"},{"type":"output_text","text":"d"}]})")
                         .content;
  std::string text;
  for (const auto& part : parts) text += part.text;
  BOOST_TEST(text == "abcd");
}

BOOST_AUTO_TEST_CASE(media_keep_their_place_and_url) {
  const auto parts = message_of(R"({"role":"user","content":[
      {"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","detail":"low"}},
      {"type":"text","text":"mid"},
      {"type":"input_image","image_url":"u2"},
      {"type":"image"},
      {"type":"image","image":"u4"},
      {"type":"video_url","video_url":{"url":"v"}}]})")
                         .content;
  BOOST_REQUIRE(parts.size() == 6u);
  BOOST_TEST((parts[0].what == content_part::kind::image));
  BOOST_TEST(parts[0].text == "data:image/png;base64,AA==");
  BOOST_TEST((parts[1].what == content_part::kind::text));
  BOOST_TEST(parts[2].text == "u2");
  BOOST_TEST((parts[3].what == content_part::kind::image));
  BOOST_TEST(parts[3].text == "");
  BOOST_TEST(parts[4].text == "u4");
  BOOST_TEST((parts[5].what == content_part::kind::video));
}

BOOST_AUTO_TEST_CASE(arguments_of_past_calls_become_objects) {
  BOOST_TEST(arguments_of(R"("{\"b\":1.0,\"a\":\"x\",\"b\":1E3}")") == R"({"b":1E3,"a":"x"})");
  BOOST_TEST(arguments_of(R"({"z":1,"a":[1, 2]})") == R"({"z":1,"a":[1,2]})");
  BOOST_TEST(arguments_of("null") == "{}");
  BOOST_TEST(arguments_of(R"("")") == "{}");
  BOOST_TEST(arguments_of(R"(" \n\t")") == "{}");
  BOOST_TEST(arguments_of(R"("{\"a\": \"x")") == R"({"_raw":"{\"a\": \"x"})");
  BOOST_TEST(arguments_of(R"("[1]")") == R"({"_raw":"[1]"})");
  BOOST_TEST(arguments_of("[1]") == R"({"_raw":"[1]"})");
}

BOOST_AUTO_TEST_CASE(a_call_without_arguments_has_none) {
  const auto message =
      message_of(R"({"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f"}}]})");
  BOOST_TEST(message.calls.at(0).id == "c");
  BOOST_TEST(message.calls.at(0).name == "f");
  BOOST_TEST(written(message.calls.at(0).arguments) == "{}");
}

BOOST_AUTO_TEST_CASE(the_older_function_call_is_a_call) {
  const auto message =
      message_of(R"({"role":"assistant","function_call":{"name":"f","arguments":"{\"a\":1}"}})");
  BOOST_TEST(message.calls.at(0).name == "f");
  BOOST_TEST(written(message.calls.at(0).arguments) == R"({"a":1})");
}

BOOST_AUTO_TEST_CASE(reasoning_content_goes_before_reasoning_unless_empty) {
  const auto reasoning = [](std::string members) {
    return message_of(R"({"role":"assistant","content":"2",)" + members + "}").reasoning;
  };
  BOOST_TEST(reasoning(R"("reasoning_content":"new","reasoning":"old")") == "new");
  BOOST_TEST(reasoning(R"("reasoning_content":"","reasoning":"old")") == "old");
  BOOST_TEST(reasoning(R"("reasoning":"old")") == "old");
  BOOST_TEST(reasoning(R"("reasoning":null)") == "");
}

BOOST_AUTO_TEST_CASE(names_ids_and_extension_fields_are_kept) {
  const auto tool = message_of(R"({"role":"tool","tool_call_id":"c1","name":"n","content":"x"})");
  BOOST_TEST(*tool.call_id == "c1");
  BOOST_TEST(*tool.name == "n");
  const auto turn = message_of(R"({"role":"assistant","recipient":"self","end_turn":false})");
  BOOST_TEST(*turn.recipient == "self");
  BOOST_TEST(!*turn.end_turn);
  const auto plain = message_of(R"({"role":"assistant"})");
  BOOST_TEST(!plain.recipient.has_value());
  BOOST_TEST(!plain.end_turn.has_value());
}

BOOST_AUTO_TEST_CASE(tools_come_wrapped_or_flat_and_lack_what_they_lack) {
  const auto tools = tools_of(R"([
      {"type":"function","function":{"name":"a.b","description":"D",
       "parameters":{"z":1.50,"a":{}}}},
      {"type":"function","name":"flat","description":"","strict":true},
      {"function":{"name":"bare","description":null,"parameters":null}}])");
  BOOST_REQUIRE(tools.size() == 3u);
  BOOST_TEST(tools[0].name == "a.b");
  BOOST_TEST(tools[0].description.string() == "D");
  BOOST_TEST(written(tools[0].parameters) == R"({"z":1.50,"a":{}})");
  BOOST_TEST(tools[1].name == "flat");
  BOOST_TEST(tools[1].description.string() == "");
  BOOST_TEST(tools[1].parameters.is_null());
  BOOST_TEST(tools[2].description.is_null());
}

BOOST_AUTO_TEST_CASE(effort_becomes_strength_and_the_templates_own_argument_wins) {
  const auto strength = [](std::string members) {
    return prompt_of(R"({"messages":[])" + members + "}").reasoning_strength;
  };
  BOOST_TEST(strength("") == "");
  for (const auto* low : {"none", "minimal", "low"}) {
    BOOST_TEST(strength(R"(,"reasoning_effort":")" + std::string{low} + "\"") == "low");
  }
  BOOST_TEST(strength(R"(,"reasoning_effort":"medium")") == "medium");
  BOOST_TEST(strength(R"(,"reasoning_effort":"max")") == "xhigh");
  BOOST_TEST(strength(R"(,"reasoning":{"effort":"high"})") == "high");
  BOOST_TEST(strength(R"(,"reasoning_effort":"low","chat_template_kwargs":
      {"reasoning_strength":"as it is"})") == "as it is");
  BOOST_TEST(strength(R"(,"reasoning_effort":"low","chat_template_kwargs":
      {"reasoning_strength":""})") == "low");
}

BOOST_AUTO_TEST_CASE(the_templates_other_arguments_are_read) {
  const auto chat = prompt_of(R"({"messages":[],"chat_template_kwargs":{"current_date":"2027-01-31",
      "knowledge_cutoff":"2025-06","tool_namespace_descriptions":{"fs":"Files","none":"x"},
      "enable_thinking":true}})");
  BOOST_TEST(chat.current_date == "2027-01-31");
  BOOST_TEST(chat.knowledge_cutoff == "2025-06");
  BOOST_TEST(chat.namespace_descriptions.at(0).first == "fs");
  BOOST_TEST(chat.namespace_descriptions.at(1).second == "x");
}

BOOST_AUTO_TEST_CASE(a_prompt_opens_an_answer_unless_told_otherwise) {
  BOOST_TEST(prompt_of(R"({"messages":[]})").add_generation_prompt);
  BOOST_TEST(!prompt_of(R"({"messages":[],"add_generation_prompt":false})").add_generation_prompt);
  const auto chat = prompt_of(
      R"({"messages":[{"role":"assistant","content":"Hel"}],"continue_final_message":true})");
  BOOST_TEST(chat.continue_final_message);
  BOOST_TEST(!chat.add_generation_prompt);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_refused_by_its_path) {
  const auto param = [](std::string_view body) {
    const auto chat = parse_chat_prompt(parsed(body));
    BOOST_REQUIRE_MESSAGE(!chat.has_value(), "accepted: " << body);
    BOOST_TEST((chat.error().kind == error_kind::bad_request));
    BOOST_TEST(chat.error().text.starts_with(chat.error().param));
    return chat.error().param;
  };
  const auto in_message = [&param](std::string members) {
    return param(R"({"messages":[{"role":"user","content":"x"},{)" + members + "}]}");
  };
  BOOST_TEST(param("{}") == "messages");
  BOOST_TEST(param(R"({"messages":null})") == "messages");
  BOOST_TEST(param(R"({"messages":"x"})") == "messages");
  BOOST_TEST(param(R"({"messages":["x"]})") == "messages[0]");
  BOOST_TEST(in_message(R"("content":"x")") == "messages[1].role");
  BOOST_TEST(in_message(R"("role":"wizard")") == "messages[1].role");
  BOOST_TEST(in_message(R"("role":1)") == "messages[1].role");
  BOOST_TEST(in_message(R"("role":"user","content":1)") == "messages[1].content");
  BOOST_TEST(in_message(R"("role":"user","content":{})") == "messages[1].content");
  BOOST_TEST(in_message(R"("role":"user","content":["a",2])") == "messages[1].content[1]");
  BOOST_TEST(in_message(R"("role":"user","content":[{"type":"audio"}])") ==
             "messages[1].content[0].type");
  BOOST_TEST(in_message(R"("role":"user","content":[{"type":"text"}])") ==
             "messages[1].content[0].text");
  BOOST_TEST(
      in_message(R"("role":"user","content":[{"type":"image_url","image_url":{"url":1}}])") ==
      "messages[1].content[0].image_url.url");
  BOOST_TEST(in_message(R"("role":"assistant","reasoning":[])") == "messages[1].reasoning");
  BOOST_TEST(in_message(R"("role":"assistant","recipient":"a b")") == "messages[1].recipient");
  BOOST_TEST(in_message(R"("role":"assistant","tool_calls":{})") == "messages[1].tool_calls");
  BOOST_TEST(in_message(R"("role":"assistant","tool_calls":[1])") == "messages[1].tool_calls[0]");
  BOOST_TEST(in_message(R"("role":"assistant","tool_calls":[{}])") ==
             "messages[1].tool_calls[0].function");
  BOOST_TEST(in_message(R"("role":"assistant","tool_calls":[{"function":{}}])") ==
             "messages[1].tool_calls[0].function.name");
  BOOST_TEST(in_message(R"("role":"tool","tool_call_id":7)") == "messages[1].tool_call_id");
  const auto with = [&param](std::string members) {
    return param(R"({"messages":[],)" + members + "}");
  };
  BOOST_TEST(with(R"("reasoning_effort":"huge")") == "reasoning_effort");
  BOOST_TEST(with(R"("reasoning":{"effort":"huge"})") == "reasoning.effort");
  BOOST_TEST(with(R"("chat_template_kwargs":[])") == "chat_template_kwargs");
  BOOST_TEST(with(R"("chat_template_kwargs":{"reasoning_strength":1})") ==
             "chat_template_kwargs.reasoning_strength");
  BOOST_TEST(with(R"("chat_template_kwargs":{"tool_namespace_descriptions":{"fs":1}})") ==
             "chat_template_kwargs.tool_namespace_descriptions");
  BOOST_TEST(with(R"("continue_final_message":true)") == "continue_final_message");
  BOOST_TEST(with(R"("tools":[{"type":"function","function":{"name":"self"}}])") ==
             "tools[0].function.name");
  BOOST_TEST(with(R"("tools":[{"type":"function","name":"a b"}])") == "tools[0].name");
  BOOST_TEST(with(R"("tools":[{"type":"web_search"}])") == "tools[0].type");
  BOOST_TEST(with(R"("tools":[{"name":"a","parameters":[]}])") == "tools[0].parameters");
  BOOST_TEST(with(R"("tools":[{"name":"a","description":1}])") == "tools[0].description");
  BOOST_TEST(with(R"("tools":[7])") == "tools[0]");
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_continued_must_be_the_last_and_open) {
  const auto refused = [](std::string_view members) {
    return !parse_chat_prompt(
        parsed("{\"continue_final_message\":true," + std::string{members} + "}"));
  };
  BOOST_TEST(refused(R"("messages":[{"role":"user","content":"x"}])"));
  BOOST_TEST(
      refused(R"("messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}])"));
  BOOST_TEST(refused(R"("add_generation_prompt":true,"messages":[{"role":"assistant"}])"));
}

BOOST_AUTO_TEST_CASE(tool_names_are_safe_in_headers_and_tags) {
  BOOST_TEST(is_tool_name("fs.read-all_2"));
  BOOST_TEST(is_tool_name(std::string(128, 'a')));
  for (const auto& name :
       {std::string{""}, std::string(129, 'a'), std::string{"self"}, std::string{"user"},
        std::string{"a b"}, std::string{"a\"b"}, std::string{"<x>"}, std::string{"\xc3\xa9"}}) {
    BOOST_TEST(!is_tool_name(name));
  }
}

BOOST_AUTO_TEST_CASE(arguments_a_hundred_thousand_levels_deep_are_refused) {
  std::string body =
      R"({"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":")";
  body += std::string(100'000, '[') + R"("}}]}]})";
  const auto chat = parse_chat_prompt(parsed(body));
  BOOST_REQUIRE(!chat.has_value());
  BOOST_TEST(chat.error().param == "messages[0].tool_calls[0].function.arguments");
}

BOOST_AUTO_TEST_CASE(tool_definitions_do_not_keep_the_body_alive) {
  auto body = std::make_unique<json>(
      parsed(R"({"messages":[],"tools":[{"name":"f","parameters":{"type":"object"}}]})"));
  const auto chat = parse_chat_prompt(*body);
  body.reset();
  BOOST_TEST(chat->tools.at(0).parameters.find("type")->string() == "object");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
