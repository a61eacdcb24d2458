#include "protocol/openai/completion_request.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include "protocol/openai/tokenize_request.hpp"

namespace glimmer {

namespace {

request_rules rules() {
  return {.served_models = {"m"}, .defaults = {}, .vocab_tokens = 1000, .bounds = {}};
}

completion_request read(const std::string& members) {
  auto request = parse_completion_request("{" + members + "}", rules());
  BOOST_REQUIRE_MESSAGE(request, (request ? "" : request.error().text));
  return std::move(*request);
}

std::string refused(const std::string& members) {
  const auto request = parse_completion_request("{" + members + "}", rules());
  return request ? "" : request.error().param;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(openai_completion_request_test)

BOOST_AUTO_TEST_CASE(a_prompt_has_four_forms) {
  const auto text = read(R"("prompt":"a")");
  BOOST_TEST(std::get<text_prompt>(text.prompts.at(0)).text == "a");
  const auto texts = read(R"("prompt":["a","b"],"add_special_tokens":false)");
  BOOST_TEST(texts.prompts.size() == 2u);
  BOOST_TEST(!std::get<text_prompt>(texts.prompts[1]).begin_of_text);
  const auto ids = read(R"("prompt":[1,2])");
  BOOST_TEST(std::get<token_prompt>(ids.prompts.at(0)).tokens.size() == 2u);
  const auto lists = read(R"("prompt":[[1,2],[3]])");
  BOOST_TEST(std::get<token_prompt>(lists.prompts.at(1)).tokens.front() == 3);
  for (const auto* wrong : {"null", "5", "{}", "[]", R"(["a",1])", R"([1,"a"])", R"([[1],"a"])",
                            "[1.5]", "[-1]", "[99999999999]", "[null]"}) {
    BOOST_TEST(refused(R"("prompt":)" + std::string{wrong}).starts_with("prompt"), wrong);
  }
}

BOOST_AUTO_TEST_CASE(sixteen_tokens_are_the_default_and_none_are_allowed) {
  BOOST_TEST(read(R"("prompt":"a")").shared.sampling.max_tokens == 16u);
  const auto scored = read(R"("prompt":"a","echo":true,"max_tokens":0,"logprobs":3)").shared;
  BOOST_TEST(scored.sampling.max_tokens == 0u);
  BOOST_TEST(scored.sampling.prompt_logprobs.value() == 3u);
  BOOST_TEST(!read(R"("prompt":"a","logprobs":3)").shared.sampling.prompt_logprobs);
}

BOOST_AUTO_TEST_CASE(the_best_of_several_are_compared_by_their_logprobs) {
  const auto request = read(R"("prompt":"a","n":2,"best_of":5)").shared;
  BOOST_TEST(request.response.sequences() == 5u);
  BOOST_TEST(request.sampling.logprobs.value() == 0u);
  BOOST_TEST(!request.response.logprobs);
  BOOST_TEST(refused(R"("prompt":"a","n":2,"best_of":1)") == "best_of");
  BOOST_TEST(refused(R"("prompt":"a","best_of":2,"stream":true)") == "best_of");
}

BOOST_AUTO_TEST_CASE(sequences_of_all_prompts_are_counted_together) {
  std::string prompts = R"("a")";
  for (int i = 1; i < 100; ++i) prompts += R"(,"a")";
  BOOST_TEST(refused(R"("n":40,"prompt":[)" + prompts + "]").empty());
  BOOST_TEST(refused(R"("n":41,"prompt":[)" + prompts + "]") == "prompt");
}

BOOST_AUTO_TEST_CASE(what_is_not_served_is_named) {
  for (const auto* field : {R"("suffix":"x")", R"("tools":[{}])", R"("tool_choice":"auto")",
                            R"("guided_json":{"a":1})", R"("use_beam_search":true)"}) {
    const auto request =
        parse_completion_request("{\"prompt\":\"a\"," + std::string{field} + "}", rules());
    BOOST_REQUIRE(!request);
    BOOST_TEST(request.error().code == "unsupported_parameter");
  }
  BOOST_TEST(refused(R"("prompt":"a","prompt_logprobs":1,"stream":true)") == "prompt_logprobs");
  BOOST_TEST(refused(R"("prompt":"a","bad_words":["x",""])") == "bad_words[1]");
  BOOST_TEST(refused(R"("prompt":"a","truncate_prompt_tokens":0)") == "truncate_prompt_tokens");
}

BOOST_AUTO_TEST_CASE(tokens_are_asked_for_text_and_for_chats) {
  const auto text = parse_tokenize_request(R"({"prompt":"a","return_token_strs":true})", rules());
  BOOST_REQUIRE(text);
  BOOST_TEST(text->return_strings);
  const auto chat =
      parse_tokenize_request(R"({"messages":[{"role":"user","content":"a"}]})", rules());
  BOOST_REQUIRE(chat);
  BOOST_TEST(std::holds_alternative<chat_prompt>(chat->prompt));
  BOOST_TEST(parse_tokenize_request("{}", rules()).error().param == "prompt");
  BOOST_TEST(parse_detokenize_request(R"({"tokens":[1,999]})", rules())->size() == 2u);
  BOOST_TEST(parse_detokenize_request(R"({"tokens":[1000]})", rules()).error().param ==
             "tokens[0]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
