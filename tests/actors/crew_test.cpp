#include "actors/crew.hpp"

#include "tests/actors/stage.hpp"

namespace glimmer::test {
namespace {

constexpr auto brief = R"("max_tokens": 40)";
constexpr auto streamed = R"("max_tokens": 40, "stream": true)";
constexpr auto endless = R"("max_tokens": 3000, "stream": true)";

bool says(const answer_part& answer, std::string_view part) {
  return answer.bytes.find(part) != std::string::npos;
}

/// What a client reads in an answer: reasoning, content, finish reason.
struct reading {
  std::string reasoning;
  std::string content;
  std::string finish;
  friend bool operator==(const reading&, const reading&) = default;

  void add(const json& message, const json& reason) {
    const auto text = [&](std::string_view name) {
      const auto field = message.find(name);
      return field && field->is_string() ? std::string{field->string()} : "";
    };
    reasoning += text("reasoning");
    content += text("content");
    if (reason.is_string()) finish += reason.string();
  }
};

/// The first choice of an answer or a chunk.
json choice_of_body(std::string_view body) {
  const auto choices = parse_json(body).find("choices");
  BOOST_REQUIRE_MESSAGE(choices.has_value(), body);
  return choices->at(0);
}

reading read_unary(std::string_view body) {
  const auto choice = choice_of_body(body);
  reading out;
  out.add(*choice.find("message"), *choice.find("finish_reason"));
  return out;
}

reading read_stream(std::string_view events) {
  reading out;
  while (events.starts_with("data: {")) {
    const auto end = events.find("\n\n");
    const auto choice = choice_of_body(events.substr(6, end - 6));
    out.add(*choice.find("delta"), *choice.find("finish_reason"));
    events.remove_prefix(end + 2);
  }
  BOOST_TEST(events == "data: [DONE]\n\n");
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(crew_test)

BOOST_AUTO_TEST_CASE(a_chat_of_this_process_is_answered) {
  stage s;
  s.wait_ready();
  const auto answer = s.submit(brief).whole();
  BOOST_TEST(answer.status == 200);
  const auto read = read_unary(answer.bytes);
  BOOST_TEST(read.reasoning == "Hm, well.");
  BOOST_TEST(read.content.starts_with("Hello there. "));
  BOOST_TEST(read.finish == "length");
  BOOST_TEST(says(answer, "\"completion_tokens\":40"));
}

BOOST_AUTO_TEST_CASE(a_unary_answer_is_the_fold_of_its_stream) {
  stage s;
  s.wait_ready();
  const auto stream = s.submit(streamed);
  const auto unary = s.submit(brief);
  BOOST_TEST((read_stream(stream.whole().bytes) == read_unary(unary.whole().bytes)));
  BOOST_TEST(stream.wait_last().size() > 5u);
  BOOST_TEST(stream.ends() == 1u);
}

BOOST_AUTO_TEST_CASE(all_tokenizers_and_parsers_answer_alike) {
  stage s{{.tokenizers = 3, .parsers = 2}};
  s.wait_ready();
  std::vector<inbox> all;
  for (int i = 0; i < 12; ++i) all.push_back(s.submit(brief));
  const auto first = read_unary(all.front().whole().bytes);
  for (const auto& one : all) BOOST_TEST((read_unary(one.whole().bytes) == first));
}

BOOST_AUTO_TEST_CASE(a_bad_request_is_refused_with_its_field) {
  stage s;
  s.wait_ready();
  const auto refusal = s.submit(R"("temperature": -1)").whole();
  BOOST_TEST(refusal.status == 400);
  BOOST_TEST(says(refusal, "\"param\":\"temperature\""));
}

BOOST_AUTO_TEST_CASE(a_cancelled_sequence_is_in_two_further_steps_at_most) {
  stage s;
  s.wait_ready();
  const auto unwanted = s.submit(endless);
  unwanted.wait_parts(4);
  s.gate->shut();
  s.gate->wait_inside();
  constexpr auto sequence = sequence_of(request_id{1}, 0);
  const auto steps = s.gate->steps_with(sequence);
  s.cancel(1);
  // The scheduler admits the next request behind the cancel: its first part proves both arrived.
  const auto next = s.submit(streamed);
  next.wait_parts(1);
  s.gate->open();
  BOOST_TEST(!says(unwanted.whole(), "[DONE]"));
  BOOST_TEST(says(next.whole(), "[DONE]"));
  BOOST_TEST(s.gate->steps_with(sequence) <= steps + 2);
  BOOST_TEST(unwanted.ends() == 1u);
  s.cancel(1);
  s.cancel(77);
  BOOST_TEST(s.submit(brief).whole().status == 200);
}

BOOST_AUTO_TEST_CASE(a_failed_step_ends_its_requests_and_the_next_one_is_served) {
  stage s;
  s.wait_ready();
  const auto stream = s.submit(endless);
  stream.wait_parts(3);
  s.gate->fail_next();
  const auto broken = stream.whole();
  BOOST_TEST(says(broken, "\"error\""));
  BOOST_TEST(!says(broken, "did not answer"));  // what the device said stays inside
  s.gate->fail_next();
  const auto unary = s.submit(brief).whole();
  BOOST_TEST(unary.status >= 500);
  BOOST_TEST(s.submit(brief).whole().status == 200);
}

BOOST_AUTO_TEST_CASE(a_drain_lets_open_requests_end_and_refuses_new_ones) {
  stage s;
  s.wait_ready();
  s.gate->shut();
  const auto open = s.submit(streamed);
  open.wait_parts(1);
  s.actors->drain();
  std::vector<inbox> before;  // accepted until the drain has reached the client
  for (bool refused = false; !refused;) {
    const auto one = s.submit(R"("max_tokens": 1, "stream": true)");
    refused = one.wait_parts(1).front().status == 503;
    if (!refused) before.push_back(one);
  }
  s.gate->open();
  BOOST_TEST(says(open.whole(), "[DONE]"));
  for (const auto& one : before) BOOST_TEST(says(one.whole(), "[DONE]"));
  BOOST_TEST((s.wait_end() == engine_end::drained));
}

BOOST_AUTO_TEST_CASE(a_second_drain_cuts_what_is_open) {
  stage s;
  s.wait_ready();
  const auto open = s.submit(endless);
  open.wait_parts(3);
  s.gate->shut();
  s.gate->wait_inside();
  s.actors->cut();
  BOOST_TEST((s.wait_end() == engine_end::cut));
  s.gate->open();
  BOOST_TEST(says(open.whole(), "\"error\""));
}

BOOST_AUTO_TEST_CASE(a_crew_that_goes_ends_every_answer_once) {
  std::vector<inbox> all;
  {
    stage s{{.tokenizers = 2, .parsers = 2}};
    s.wait_ready();
    for (int i = 0; i < 4; ++i) all.push_back(s.submit(endless));
    all.front().wait_parts(5);
    for (int i = 0; i < 4; ++i) all.push_back(s.submit(endless));
  }
  for (const auto& one : all) BOOST_TEST(one.ends() == 1u);
}

BOOST_AUTO_TEST_CASE(requests_are_refused_while_the_model_loads) {
  std::promise<void> loaded;
  const auto wait = [&]() -> result<std::unique_ptr<stepper>> {
    loaded.get_future().wait();
    return std::make_unique<gated_stepper>(std::make_shared<step_gate>(), gated_stepper::lines{});
  };
  stage s{{.load = wait}};
  const auto refusal = s.submit(brief).whole();
  BOOST_TEST(refusal.status == 503);
  BOOST_TEST(says(refusal, "loading"));
  loaded.set_value();
  s.wait_ready();
  BOOST_TEST(s.submit(brief).whole().status == 200);
}

BOOST_AUTO_TEST_CASE(weights_that_cannot_be_loaded_end_the_engine_with_code_3) {
  const auto refuse = []() -> result<std::unique_ptr<stepper>> {
    return fail({error_kind::device, "out_of_memory", "", "The weights do not fit."});
  };
  stage s{{.load = refuse}};
  const auto how = s.wait_end();
  BOOST_TEST((how == engine_end::not_loaded));
  BOOST_TEST(static_cast<int>(how) == 3);
  BOOST_TEST(s.submit(brief).whole().status == 503);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
