#include "engine/request_preparer.hpp"

#include <boost/test/unit_test.hpp>

#include "base/random.hpp"
#include "tests/tokenizer/fixture.hpp"

namespace glimmer {

namespace {

constexpr std::string_view today = "2026-09-01";
constexpr std::uint32_t vocab = 1536;

request_preparer preparer(std::uint32_t context_tokens = 4096) {
  return {test::release_like(), {context_tokens, vocab}};
}

generation_request chat_of(std::string words) {
  chat_message message;
  message.content.push_back({content_part::kind::text, std::move(words)});
  chat_prompt chat;
  chat.messages.push_back(std::move(message));
  generation_request out;
  out.prompt = std::move(chat);
  return out;
}

generation_request tokens_of(std::size_t count) {
  generation_request out;
  out.prompt = token_prompt{std::vector<token_id>(count, 7)};
  out.response.chat = false;
  return out;
}

prepared_request prepared(const request_preparer& by, const generation_request& request) {
  auto out = by.prepare(request, today, 99);
  BOOST_REQUIRE_MESSAGE(out.has_value(), (out ? "" : out.error().text));
  return std::move(*out);
}

error refused(const request_preparer& by, const generation_request& request) {
  auto out = by.prepare(request, today, 99);
  BOOST_REQUIRE(!out.has_value());
  BOOST_TEST((out.error().kind == error_kind::bad_request));
  return out.error();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(preparing)

BOOST_AUTO_TEST_CASE(a_chat_becomes_the_tokens_of_its_layout) {
  const auto out = prepared(preparer(), chat_of("Hello <|eot|>"));
  const tokenizer& tokens = *test::release_like();
  const std::string text = tokens.decode(*out.prompt, special_text::spelled);
  BOOST_TEST(text.starts_with("<|begin_of_text|><|start|>system<|message|>You are"));
  BOOST_TEST(text.find("Current date: 2026-09-01.") != text.npos);
  BOOST_TEST(text.ends_with("<|start|>user<|message|>Hello <|eot|><|eot|><|start|>assistant"));
  BOOST_TEST(std::ranges::count(*out.prompt, tokens.id(control_token::eot)) == 2);
  BOOST_TEST((out.end == prompt_end::header));
}

BOOST_AUTO_TEST_CASE(a_text_gets_one_bos_and_tokens_get_none) {
  generation_request request;
  request.prompt = text_prompt{"<|begin_of_text|>x"};
  const auto text = prepared(preparer(), request);
  const token_id bos = test::release_like()->id(control_token::begin_of_text);
  BOOST_TEST(std::ranges::count(*text.prompt, bos) == 1);
  BOOST_TEST(text.prompt->front() == bos);
  BOOST_TEST((text.end == prompt_end::text));

  const auto tokens = prepared(preparer(), tokens_of(3));
  BOOST_TEST(*tokens.prompt == std::vector<token_id>(3, 7), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_answer_to_be_continued_starts_inside_its_body) {
  generation_request request = chat_of("Q");
  auto& chat = std::get<chat_prompt>(request.prompt);
  chat.continue_final_message = true;
  BOOST_TEST(refused(preparer(), request).param == "continue_final_message");

  chat.messages.push_back({});
  chat.messages.back().role = message_role::assistant;
  chat.messages.back().reasoning = "Let me";
  BOOST_TEST((prepared(preparer(), request).end == prompt_end::reasoning));
  chat.messages.back().content.push_back({content_part::kind::text, "It"});
  BOOST_TEST((prepared(preparer(), request).end == prompt_end::content));
}

BOOST_AUTO_TEST_CASE(every_choice_has_a_seed_of_its_own) {
  generation_request request = tokens_of(3);
  request.response.choices = 3;
  const auto fresh = prepared(preparer(), request);
  BOOST_REQUIRE(fresh.choices.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) BOOST_TEST(fresh.choices[i].seed == choice_seed(99, i));

  request.has_seed = true;
  request.sampling.seed = 5;
  const auto given = prepared(preparer(), request);
  for (std::uint32_t i = 0; i < 3; ++i) BOOST_TEST(given.choices[i].seed == choice_seed(5, i));
}

BOOST_AUTO_TEST_CASE(the_answer_is_cut_to_what_the_context_leaves) {
  generation_request request = tokens_of(90);
  BOOST_TEST(prepared(preparer(100), request).choices[0].max_tokens == 10);
  request.has_max_tokens = true;
  request.sampling.max_tokens = 4;
  request.sampling.min_tokens = 3;
  BOOST_TEST(prepared(preparer(100), request).choices[0].max_tokens == 4);
  BOOST_TEST(prepared(preparer(100), request).choices[0].min_tokens == 3);
  request.sampling.max_tokens = 40;
  request.sampling.min_tokens = 40;
  BOOST_TEST(prepared(preparer(100), request).choices[0].max_tokens == 10);
  BOOST_TEST(prepared(preparer(100), request).choices[0].min_tokens == 10);
}

BOOST_AUTO_TEST_CASE(a_prompt_without_room_for_an_answer_is_refused_with_the_numbers) {
  generation_request request = tokens_of(100);
  const error bare = refused(preparer(100), request);
  BOOST_TEST(bare.code == "context_length_exceeded");
  BOOST_TEST(bare.param == "prompt");
  BOOST_TEST(bare.text ==
             "This model's context holds 100 tokens; the prompt has 100. The prompt must leave "
             "room for an answer.");
  request.has_max_tokens = true;
  request.sampling.max_tokens = 12;
  BOOST_TEST(refused(preparer(100), request).text.find("asks for 12 more") != std::string::npos);
  BOOST_TEST(refused(preparer(10), chat_of("Hi")).param == "messages");

  request.sampling.max_tokens = 0;  // scoring needs no room
  BOOST_TEST(prepared(preparer(100), request).choices[0].max_tokens == 0);
  refused(preparer(99), request);
}

BOOST_AUTO_TEST_CASE(an_answer_that_could_grow_too_large_in_one_piece_is_refused_at_once) {
  const request_preparer small{test::release_like(), {4096, vocab, 1 << 20}};
  auto request = tokens_of(10);
  request.has_max_tokens = true;
  request.sampling.max_tokens = 2000;
  prepared(small, request);
  request.sampling.logprobs = 20;
  const auto told = refused(small, request);
  BOOST_TEST(told.code == "answer_too_large");
  BOOST_TEST(told.param == "max_tokens");
  BOOST_TEST(told.text.find("3376000 bytes") != std::string::npos);
  BOOST_TEST(told.text.find("1048576") != std::string::npos);
  request.response.stream = true;  // told as it comes
  prepared(small, request);
  request.prompt = tokens_of(1000).prompt;  // but those of the prompt come in one piece
  request.sampling.prompt_logprobs = 20;
  BOOST_TEST(refused(small, request).param == "prompt_logprobs");
  request.response.stream = false;
  request.sampling = {.max_tokens = 2000};
  request.response.choices = 66;
  BOOST_TEST(refused(small, request).code == "answer_too_large");
  prepared(preparer(), request);
}

BOOST_AUTO_TEST_CASE(ids_beyond_the_vocabulary_are_refused_by_field) {
  const auto field = [](auto change) {
    for (const token_id wrong : {-1, static_cast<token_id>(vocab)}) {
      generation_request request = tokens_of(3);
      change(request, wrong);
      const error e = refused(preparer(), request);
      BOOST_TEST(e.code == "invalid_value");
      BOOST_TEST(e.text.find("0 to 1535") != std::string::npos, e.text);
      if (wrong > 0) return e.param;
    }
    return std::string{};
  };
  const auto last = static_cast<token_id>(vocab) - 1;
  BOOST_TEST(field([](auto& r, token_id t) {
               r.sampling.logit_bias = {{t, 1.0f}};
             }) == "logit_bias");
  BOOST_TEST(field([](auto& r, token_id t) {
               r.sampling.stop_token_ids = {0, t};
             }) == "stop_token_ids");
  BOOST_TEST(field([](auto& r, token_id t) { r.sampling.allowed_token_ids = {t}; }) ==
             "allowed_token_ids");
  BOOST_TEST(field([](auto& r, token_id t) {
               r.sampling.bad_words = {{1}, {2, t}};
             }) == "bad_words");
  BOOST_TEST(field([](auto& r, token_id t) { r.prompt = token_prompt{{1, t}}; }) == "prompt");

  generation_request request = tokens_of(1);
  request.sampling.logit_bias = {{last, 1.0f}};
  request.prompt = token_prompt{{0, last}};
  prepared(preparer(), request);
}

BOOST_AUTO_TEST_CASE(a_prompt_of_no_tokens_is_refused) {
  BOOST_TEST(refused(preparer(), tokens_of(0)).param == "prompt");
}

BOOST_AUTO_TEST_CASE(media_are_refused_where_they_stand) {
  generation_request request = chat_of("look");
  auto& content = std::get<chat_prompt>(request.prompt).messages[0].content;
  content.push_back({content_part::kind::image, "data:image/png;base64,"});
  const error image = refused(preparer(), request);
  BOOST_TEST(image.code == "unsupported_parameter");
  BOOST_TEST(image.param == "messages[0].content[1]");
  BOOST_TEST(image.text.find("images") != std::string::npos);
  content[1].what = content_part::kind::video;
  BOOST_TEST(refused(preparer(), request).text.find("videos") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_message_never_stops_a_chat) {
  const token_id eom = test::release_like()->id(control_token::eom);
  generation_request request = chat_of("Q");
  request.sampling.stop_token_ids = {3, eom};
  BOOST_TEST(prepared(preparer(), request).choices[0].stop_token_ids == (std::vector<token_id>{3}),
             boost::test_tools::per_element());
  request.prompt = text_prompt{"Q"};
  BOOST_TEST(prepared(preparer(), request).choices[0].stop_token_ids.size() == 2);
}

BOOST_AUTO_TEST_CASE(random_requests_keep_prompt_and_answer_within_the_context) {
  test::text_source source{2026};
  for (int i = 0; i < 400; ++i) {
    const auto context = static_cast<std::uint32_t>(1 + source.number(60));
    generation_request request = tokens_of(1 + source.number(60));
    request.has_max_tokens = source.number(2) == 0;
    request.sampling.max_tokens = static_cast<std::uint32_t>(source.number(80));
    request.response.choices = static_cast<std::uint32_t>(1 + source.number(3));
    const auto out = preparer(context).prepare(request, today, 1);
    const std::size_t count = std::get<token_prompt>(request.prompt).tokens.size();
    if (!out) {
      BOOST_REQUIRE(count >= context);
      continue;
    }
    BOOST_REQUIRE_EQUAL(out->choices.size(), request.response.choices);
    for (const sampling_params& choice : out->choices) {
      BOOST_REQUIRE(count + choice.max_tokens <= context);
      if (request.has_max_tokens) {
        BOOST_REQUIRE(choice.max_tokens <= request.sampling.max_tokens);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
