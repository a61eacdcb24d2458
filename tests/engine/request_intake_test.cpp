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
  auto out = by.accept(request, body, {.arrived = {}, .wall = 1'788'220'800});
  BOOST_REQUIRE_MESSAGE(out.has_value(), (out ? "" : out.error().text));
  return std::move(*out);
}

error refused(std::string_view body) {
  const auto out = intake().accept({1}, body, {});
  BOOST_REQUIRE(!out.has_value());
  return out.error();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(request_intake_test)

BOOST_AUTO_TEST_CASE(a_body_becomes_tokens_and_what_shapes_its_answer) {
  const auto got = accepted(intake(), R"({"messages": [{"role": "user", "content": "Hello"}],
      "n": 2, "stream": true, "stop": "x", "max_tokens": 5, "model": "tiny"})");
  BOOST_TEST(got.prepared.prompt->size() > 10u);
  BOOST_TEST(got.prepared.choices.size() == 2u);
  BOOST_TEST(got.prepared.choices[0].max_tokens == 5u);
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
  BOOST_TEST(first.prepared.choices[0].seed != next.prepared.choices[0].seed);
  BOOST_TEST(first.answer_id.starts_with("chatcmpl-"));
}

BOOST_AUTO_TEST_CASE(the_servers_seed_serves_requests_that_bring_none) {
  const auto by = intake(7);
  const auto own = [&](std::string_view body, std::uint64_t id) {
    return accepted(by, body, {id}).prepared.choices[0].seed;
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

BOOST_AUTO_TEST_CASE(the_date_is_written_year_first) {
  const auto date = local_date(1'788'220'800);
  BOOST_TEST((date == "2026-09-01" || date == "2026-08-31"), date);  // by the zone of the machine
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
