#include "engine/request_intake.hpp"

#include <boost/test/unit_test.hpp>
#include <set>

#include "tests/tokenizer/fixture.hpp"

namespace glimmer {
namespace {

constexpr std::string_view hello = R"({"messages": [{"role": "user", "content": "Hello"}]})";

request_intake intake(std::optional<std::uint64_t> seed = {}, std::uint64_t process_key = 1) {
  constexpr std::uint32_t vocab = 1536;
  return {{.requests = {.served_models = {"tiny"}, .vocab_tokens = vocab},
           .seed = seed,
           .process_key = process_key},
          request_preparer{test::release_like(), {.context_tokens = 4096, .vocab_tokens = vocab}}};
}

accepted_request accepted(const request_intake& by, std::string_view body,
                          request_id request = {1}) {
  auto out = by.accept({.request = request, .body = body}, {.arrived = {}, .wall = 1'788'220'800});
  BOOST_REQUIRE_MESSAGE(out.has_value(), (out ? "" : out.error().text));
  return std::move(*out);
}

error refused(std::string_view body) {
  const auto out = intake().accept({.request = {1}, .body = body}, {});
  BOOST_REQUIRE(!out.has_value());
  return out.error();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request_intake_test)

BOOST_AUTO_TEST_CASE(a_body_becomes_tokens_and_what_shapes_its_answer) {
  const auto got = accepted(intake(), R"({"messages": [{"role": "user", "content": "Hello"}],
      "n": 2, "stream": true, "stop": "x", "max_tokens": 5, "model": "tiny"})");
  BOOST_TEST(got.prompts[0].prompt->size() > 10u);
  BOOST_TEST(got.prompts[0].choices.size() == 2u);
  BOOST_TEST(got.prompts[0].choices[0].max_tokens == 5u);
  BOOST_TEST(got.response.stream);
  BOOST_TEST(got.response.stop.front() == "x");
  BOOST_TEST(got.created == 1'788'220'800);
}

BOOST_AUTO_TEST_CASE(the_same_body_in_another_request_has_another_name_and_seed) {
  const auto by = intake();
  const auto first = accepted(by, hello, {1});
  const auto again = accepted(by, hello, {1});
  const auto next = accepted(by, hello, {2});
  const auto restarted = accepted(intake({}, 2), hello, {1});
  BOOST_TEST(first.answer_id == again.answer_id);
  const std::set names{first.answer_id, next.answer_id, restarted.answer_id};
  BOOST_TEST(names.size() == 3u);
  BOOST_TEST(first.prompts[0].choices[0].seed != next.prompts[0].choices[0].seed);
  BOOST_TEST(first.answer_id.starts_with("chatcmpl-"));
}

BOOST_AUTO_TEST_CASE(the_servers_seed_serves_requests_that_bring_none) {
  const auto by = intake(7);
  const auto own = [&](std::string_view body, std::uint64_t id) {
    return accepted(by, body, {id}).prompts[0].choices[0].seed;
  };
  BOOST_TEST(own(hello, 1) == own(hello, 2));
  constexpr auto seeded = R"({"messages": [{"role": "user", "content": "Hello"}], "seed": 8})";
  BOOST_TEST(own(seeded, 1) != own(hello, 1));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named) {
  BOOST_TEST(refused("").code == "invalid_json");
  BOOST_TEST(refused("{").code == "invalid_json");
  BOOST_TEST(refused(R"({"messages": 5})").param == "messages");
  BOOST_TEST(refused(R"({"messages": [{"role": "user", "content": "x"}], "top_p": 2})").param ==
             "top_p");
  const std::string much(200'000, 'a');
  BOOST_TEST(refused(R"({"messages": [{"role": "user", "content": ")" + much + "\"}]}").code ==
             "context_length_exceeded");
}

BOOST_AUTO_TEST_CASE(no_cut_of_a_body_gets_through) {
  for (std::size_t size = 0; size < hello.size(); ++size) refused(hello.substr(0, size));
}

BOOST_AUTO_TEST_CASE(each_prompt_of_a_completion_has_its_own_tokens_and_seed) {
  const auto got = intake().accept(
      {.request = {1}, .where = route::completions, .body = R"({"prompt": ["a", "b c"], "n": 2})"},
      {});
  BOOST_REQUIRE(got);
  BOOST_TEST(got->answer_id.starts_with("cmpl-"));
  BOOST_TEST(got->prompts.size() == 2u);
  BOOST_TEST(got->prompts[1].choices.size() == 2u);
  BOOST_TEST((*got->prompts[0].prompt != *got->prompts[1].prompt));
  BOOST_TEST(got->prompts[0].choices[0].seed != got->prompts[1].choices[0].seed);
}

BOOST_AUTO_TEST_CASE(words_that_must_not_come_are_kept_out_with_and_without_a_blank) {
  const auto got = accepted(
      intake(), R"({"messages": [{"role": "user", "content": "x"}], "bad_words": ["no"]})");
  const auto& words = got.prompts[0].choices[0].bad_words;
  BOOST_REQUIRE(words.size() == 2u);
  BOOST_TEST(test::release_like()->decode(words[0]) == "no");
  BOOST_TEST(test::release_like()->decode(words[1]) == " no");
}

BOOST_AUTO_TEST_CASE(a_prompt_is_cut_to_its_last_tokens) {
  const auto kept = [](std::string_view how) {
    const auto body = R"({"prompt": ")" + std::string(9000, 'a') + R"(", "max_tokens": 10, )" +
                      R"("truncate_prompt_tokens": )" + std::string{how} + "}";
    return intake()
        .accept({.request = {1}, .where = route::completions, .body = body}, {})
        ->prompts[0]
        .prompt->size();
  };
  BOOST_TEST(kept("5") == 5u);
  BOOST_TEST(kept("-1") <= 4086u);
}

BOOST_AUTO_TEST_CASE(what_needs_no_computing_is_answered_at_once) {
  const auto answered = [](route where, std::string_view body) {
    const auto taken = intake().take({.request = {1}, .where = where, .body = body}, {});
    BOOST_REQUIRE_MESSAGE(taken, (taken ? "" : taken.error().text));
    return *json::parse(std::get<ready_answer>(*taken).body);
  };
  const auto tokens = answered(route::tokenize, R"({"prompt": "Hello", "add_special_tokens": false,
      "return_token_strs": true})");
  BOOST_TEST(tokens.find("count")->integer().value() ==
             static_cast<std::int64_t>(tokens.find("tokens")->size()));
  BOOST_TEST(tokens.find("token_strs")->size() == tokens.find("tokens")->size());
  std::string ids;
  json_writer{ids}.value(*tokens.find("tokens"));
  const auto text = answered(route::detokenize, "{\"tokens\": " + ids + "}");
  BOOST_TEST(text.find("prompt")->string() == "Hello");
  const auto chat = answered(route::chat_render, hello);
  BOOST_TEST(chat.find("prompt")->string().ends_with("<|start|>assistant"));
  BOOST_TEST(chat.find("prompt_token_ids")->size() > 10u);
}

BOOST_AUTO_TEST_CASE(a_clients_own_name_names_the_answer) {
  const auto got = accepted(
      intake(), R"({"messages": [{"role": "user", "content": "x"}], "request_id": "mine"})");
  BOOST_TEST(got.answer_id == "chatcmpl-mine");
}

BOOST_AUTO_TEST_CASE(the_date_is_written_year_first) {
  const auto date = local_date(1'788'220'800);
  BOOST_TEST((date == "2026-09-01" || date == "2026-08-31"), date);  // by the zone of the machine
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
