#include "protocol/openai/completion_response.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "base/json.hpp"

namespace glimmer {

namespace {

response_options plain() {
  response_options options;
  options.model = "m";
  options.chat = false;
  return options;
}

completion_prompt prompt_of(std::string text) {
  return {.tokens = 2, .echo = text, .spellings = {"<s>", text}, .token_ids = {1, 2}};
}

completion_answer answer_to(const response_options& options,
                            const std::vector<completion_prompt>& prompts) {
  return {options, {.id = "cmpl-1", .created = 7}, prompts};
}

std::vector<turn_event> text(std::string what) {
  return {{turn_event::kind::content, 0, std::move(what), "", ""}};
}

json parsed(const std::string& body) {
  const auto value = json::parse(body);
  BOOST_REQUIRE_MESSAGE(value, body);
  return *value;
}

std::string written(const json& value) {
  std::string out;
  json_writer{out}.value(value);
  return out;
}

sequence_usage used(std::uint32_t completion) {
  return {.prompt_tokens = 2, .cached_tokens = 1, .completion_tokens = completion};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(openai_completion_response_test)

BOOST_AUTO_TEST_CASE(choices_are_numbered_prompt_by_prompt_and_prompts_count_once) {
  auto options = plain();
  options.choices = 2;
  auto answer = answer_to(options, {prompt_of("p"), prompt_of("q")});
  std::string out;
  answer.begin({}, out);
  for (std::uint32_t i = 0; i < 4; ++i) {
    answer.add(i, {.events = text(std::to_string(i)), .usage = used(1)}, out);
    answer.finish(i, {.reason = finish_reason::length, .usage = used(3)}, out);
  }
  BOOST_TEST(out.empty());
  answer.end(out);
  const auto body = parsed(out);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto choice = body.find("choices")->at(i);
    BOOST_TEST(choice.find("text")->string() == std::to_string(i));
    BOOST_TEST(choice.find("index")->integer().value() == static_cast<int>(i));
  }
  BOOST_TEST(body.find("usage")->find("prompt_tokens")->integer().value() == 4);
  BOOST_TEST(body.find("usage")->find("completion_tokens")->integer().value() == 12);
}

BOOST_AUTO_TEST_CASE(an_echo_is_scored_from_its_second_token_on) {
  auto options = plain();
  options.echo = true;
  options.logprobs = 1;
  auto answer = answer_to(options, {prompt_of("Hé")});
  const std::vector<spelled_logprob> prompt = {{"Hé", -1.5f, {{"Ho", -1.f}}}};
  const std::vector<spelled_logprob> chosen = {{"!", -0.5f, {{"!", -0.5f}}}};
  std::string out;
  answer.begin({}, out);
  answer.add_prompt(0, prompt);
  answer.add(0, {.events = text("!"), .logprobs = chosen, .usage = used(1)}, out);
  answer.finish(0, {.reason = finish_reason::stop, .usage = used(1)}, out);
  answer.end(out);
  const auto choice = parsed(out).find("choices")->at(0);
  BOOST_TEST(choice.find("text")->string() == "Hé!");
  BOOST_TEST(written(*choice.find("logprobs")) ==
             R"({"text_offset":[0,3,5],"token_logprobs":[null,-1.5,-0.5],)"
             R"("tokens":["<s>","Hé","!"],)"
             R"("top_logprobs":[null,{"Ho":-1,"Hé":-1.5},{"!":-0.5}]})");
}

BOOST_AUTO_TEST_CASE(a_scored_prompt_needs_no_answer) {
  auto options = plain();
  options.echo = true;
  options.logprobs = 0;
  auto answer = answer_to(options, {prompt_of("p")});
  const std::vector<spelled_logprob> prompt = {{"p", -2.f, {}}};
  std::string out;
  answer.begin({}, out);
  answer.add_prompt(0, prompt);
  answer.finish(0, {.reason = finish_reason::length, .usage = used(0)}, out);
  answer.end(out);
  const auto choice = parsed(out).find("choices")->at(0);
  BOOST_TEST(choice.find("text")->string() == "p");
  BOOST_TEST(written(*choice.find("logprobs")->find("token_logprobs")) == "[null,-2]");
}

BOOST_AUTO_TEST_CASE(the_likeliest_choices_are_shown) {
  auto options = plain();
  options.best_of = 3;
  auto answer = answer_to(options, {prompt_of("p")});
  std::string out;
  answer.begin({}, out);
  const float scores[] = {-2, -1, -3};
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::vector<spelled_logprob> chosen = {{"x", scores[i], {}}};
    answer.add(i, {.events = text(std::to_string(i)), .logprobs = chosen, .usage = used(1)}, out);
    answer.finish(i, {.reason = finish_reason::stop, .usage = used(1)}, out);
  }
  answer.end(out);
  const auto choices = *parsed(out).find("choices");
  BOOST_TEST(choices.size() == 1u);
  BOOST_TEST(choices.at(0).find("text")->string() == "1");
  BOOST_TEST(choices.at(0).find("logprobs")->is_null());
}

BOOST_AUTO_TEST_CASE(chunks_fold_to_the_whole_and_usage_is_last) {
  auto options = plain();
  options.stream = true;
  options.include_usage = true;
  options.echo = true;
  auto answer = answer_to(options, {prompt_of("p")});
  std::string out;
  answer.begin({}, out);
  answer.add(0, {.events = text("a\n"), .usage = used(1)}, out);
  answer.add(0, {.events = {}, .usage = used(2)}, out);
  answer.add(0, {.events = text("b"), .usage = used(3)}, out);
  answer.finish(0, {.reason = finish_reason::stop, .usage = used(3)}, out);
  answer.end(out);
  std::string whole, last;
  std::string_view rest = out;
  for (auto end = rest.find("\n\n"); end != rest.npos; end = rest.find("\n\n")) {
    const std::string payload{rest.substr(6, end - 6)};
    rest.remove_prefix(end + 2);
    if (payload == "[DONE]") break;
    last = payload;
    const auto choice = parsed(payload).find("choices")->first();
    if (choice) whole += choice->find("text")->string();
  }
  BOOST_TEST(whole == "pa\nb");
  BOOST_TEST(parsed(last).find("choices")->size() == 0u);
  BOOST_TEST(parsed(last).find("usage")->find("completion_tokens")->integer().value() == 3);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
