#include "engine/answer_desk.hpp"

#include <boost/test/unit_test.hpp>
#include <map>

#include "base/random.hpp"
#include "tests/engine/counted.hpp"
#include "tests/tokenizer/fixture.hpp"

namespace glimmer {
namespace {

constexpr request_id request_1{1};
constexpr time_point start{std::chrono::seconds{10}};

/// A desk with one hand on the scheduler's side and one on the clients'.
struct parlour {
  answer_desk desk{
      {.tokens = test::release_like(), .bounds = {.token_window = 64}, .context_tokens = 4096}};
  std::map<sequence_id, std::uint32_t> produced;
  std::map<sequence_id, std::uint32_t> returned;
  std::map<request_id, std::string> bytes;
  std::map<request_id, std::size_t> ends;  // last pieces and refusals
  std::vector<error> refusals;
  std::vector<sequence_end_found> found;
  std::vector<request_id> cancels;

  sequence_request open(response_options response, request_id request = request_1) {
    accepted_request accepted{.request = request, .answer_id = "chatcmpl-1", .arrived = start};
    accepted.prompts.resize(1);
    accepted.prompts[0].prompt = std::make_shared<const std::vector<token_id>>(7, 65);
    accepted.prompts[0].choices.resize(response.choices);
    accepted.response = std::move(response);
    return desk.open(std::make_shared<const accepted_request>(std::move(accepted))).at(0);
  }
  void admit(response_options response, request_id request = request_1) {
    open(std::move(response), request);
    desk.admitted(request);
    look();
  }
  void take(const committed& step) {
    for (const auto& output : step.outputs) {
      produced[output.id] += static_cast<std::uint32_t>(output.tokens.size());
    }
    desk.take(step, start + std::chrono::seconds{1});
    look();
  }
  void say(std::string_view turn, std::uint32_t choice = 0) {
    take({{output(test::turn_tokens(turn), choice)}, {}});
  }
  void end(end_cause cause, std::uint32_t choice = 0, request_id request = request_1) {
    take({{}, {{.id = sequence_of(request, choice), .request = request, .cause = cause}}});
  }
  static sequence_output output(std::vector<token_id> tokens, std::uint32_t choice,
                                request_id request = request_1) {
    sequence_output out{.id = sequence_of(request, choice), .request = request};
    for (const token_id token : tokens) out.logprobs.push_back({token, -0.5f, {}});
    out.tokens = std::move(tokens);
    return out;
  }
  void look() {
    auto mail = desk.take_mail();
    for (const auto& piece : mail.pieces) {
      BOOST_TEST(ends[piece.request] == 0u);
      bytes[piece.request] += piece.bytes;
      ends[piece.request] += piece.last ? 1 : 0;
      for (const auto& [sequence, tokens] : piece.stands_for) returned[sequence] += tokens;
    }
    for (const auto& refusal : mail.refusals) {
      ++ends[refusal.request];
      refusals.push_back(refusal.why);
    }
    for (const auto& [sequence, tokens] : mail.windows) returned[sequence] += tokens;
    found.insert(found.end(), mail.ends.begin(), mail.ends.end());
    cancels.insert(cancels.end(), mail.cancels.begin(), mail.cancels.end());
  }
  bool says(std::string_view part) { return bytes[request_1].find(part) != std::string::npos; }
  double ended(std::string_view reason) const {
    return counted(desk.counters(), metric::request_success, {reason});
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(answer_desk_test)

BOOST_AUTO_TEST_CASE(opening_asks_for_one_sequence_per_choice) {
  parlour p;
  const auto asked = p.open({.choices = 3});
  BOOST_REQUIRE(asked.choices.size() == 3u);
  BOOST_TEST((asked.choices[2].id == sequence_of(request_1, 2)));
  BOOST_TEST(asked.prompt->size() == 7u);
  BOOST_TEST(asked.token_window == 21u);  // the window is shared by the choices
  BOOST_TEST(p.desk.open_requests() == 1u);
}

BOOST_AUTO_TEST_CASE(a_stream_begins_with_its_role_and_a_unary_answer_with_silence) {
  parlour p;
  p.admit({.stream = true});
  BOOST_TEST(p.says("\"role\":\"assistant\""));
  p.open({}, {2});
  p.desk.admitted({2});
  const auto mail = p.desk.take_mail();
  BOOST_REQUIRE(mail.pieces.size() == 1u);  // told without bytes
  BOOST_TEST(mail.pieces.front().bytes.empty());
}

BOOST_AUTO_TEST_CASE(what_the_scheduler_refuses_is_told_once) {
  parlour p;
  p.open({});
  p.desk.refused(request_1, {error_kind::overloaded, "queue_full", "", "Full."});
  p.look();
  BOOST_TEST(p.refusals.front().code == "queue_full");
  BOOST_TEST(p.desk.open_requests() == 0u);
}

BOOST_AUTO_TEST_CASE(tokens_without_bytes_return_to_their_window_at_once) {
  parlour p;
  p.admit({});
  p.say(" to=user<|message|>Hello");
  const auto sequence = sequence_of(request_1, 0);
  BOOST_TEST(p.returned[sequence] == p.produced[sequence]);
  BOOST_TEST(p.bytes[request_1].empty());
  p.end(end_cause::stop_token);
  BOOST_TEST(p.says("\"content\":\"Hello\""));
  BOOST_TEST(p.ends[request_1] == 1u);
}

BOOST_AUTO_TEST_CASE(a_stop_string_is_told_to_the_scheduler_with_its_token) {
  parlour p;
  p.admit({.stream = true, .stop = {"two th"}});
  p.say(" to=user<|message|>one two three four");
  BOOST_REQUIRE(p.found.size() == 1u);
  BOOST_TEST(p.found.front().output_index < p.produced[sequence_of(request_1, 0)]);
  p.say(" five");
  BOOST_TEST(p.found.size() == 1u);
  p.end(end_cause::length);  // it ran into its limit before the scheduler knew
  BOOST_TEST(p.says("\"finish_reason\":\"stop\",\"stop_reason\":\"two th\""));
  BOOST_TEST(!p.says("three"));
  BOOST_TEST(p.ended("stop") == 1);
}

BOOST_AUTO_TEST_CASE(a_failed_unary_answer_is_a_refusal_and_a_failed_stream_ends_in_an_error) {
  parlour p;
  p.admit({});
  p.say(" to=user<|message|>Hello");
  p.end(end_cause::error);
  BOOST_TEST((p.refusals.front().kind == error_kind::device));
  BOOST_TEST(p.bytes[request_1].empty());

  parlour q;
  q.admit({.stream = true});
  q.end(end_cause::error);
  BOOST_TEST(q.says("\"error\""));
  BOOST_TEST(q.bytes[request_1].ends_with("data: [DONE]\n\n"));
  BOOST_TEST(q.ends[request_1] == 1u);
}

BOOST_AUTO_TEST_CASE(a_request_of_several_choices_ends_with_its_last_one) {
  parlour p;
  p.admit({.stream = true, .choices = 2});
  p.end(end_cause::stop_token, 1);
  BOOST_TEST(p.ends[request_1] == 0u);
  p.end(end_cause::stop_token, 0);
  BOOST_TEST(p.ends[request_1] == 1u);
  BOOST_TEST(p.cancels.empty());
}

BOOST_AUTO_TEST_CASE(when_a_choice_fails_the_others_are_cancelled_and_the_answer_is_one_error) {
  parlour p;
  p.admit({.stream = true, .choices = 3});
  p.end(end_cause::error, 1);
  BOOST_TEST(p.ends[request_1] == 0u);
  p.say(" to=user<|message|>Hello", 0);
  p.end(end_cause::cancelled, 0);
  p.end(end_cause::cancelled, 2);
  BOOST_REQUIRE(p.cancels.size() == 1u);
  BOOST_TEST((p.cancels.front() == request_1));
  BOOST_TEST(p.ends[request_1] == 1u);
  BOOST_TEST(p.says("\"error\""));
  BOOST_TEST(!p.says("Hello"));
}

BOOST_AUTO_TEST_CASE(endings_are_counted_by_sequence_and_reason) {
  parlour p;
  p.admit({.choices = 3});
  p.end(end_cause::stop_token, 0);
  p.end(end_cause::length, 1);
  p.end(end_cause::length, 2);
  std::uint64_t next = 2;
  for (const auto cause : {end_cause::cancelled, end_cause::deadline, end_cause::error}) {
    const request_id request{next++};
    p.admit({}, request);
    p.end(cause, 0, request);
  }
  BOOST_TEST(p.ended("stop") == 1);
  BOOST_TEST(p.ended("length") == 2);
  BOOST_TEST(p.ended("abort") == 2);
  BOOST_TEST(p.ended("error") == 1);
  BOOST_TEST(counted(p.desk.counters(), metric::e2e_latency) == 4);
}

BOOST_AUTO_TEST_CASE(hidden_reasoning_shows_neither_text_nor_tokens) {
  constexpr std::string_view turn =
      " to=self<|message|>Secret plan<|eom|><|start|>assistant to=user<|message|>Hello";
  const auto answer = [&](bool include) {
    parlour p;
    p.admit({.include_reasoning = include, .return_token_ids = true, .logprobs = 0});
    p.say(turn);
    p.end(end_cause::stop_token);
    return p.bytes[request_1];
  };
  const auto told = [](const std::string& body, std::string_view part) {
    return body.find(part) != std::string::npos;
  };
  const auto secret = test::turn_tokens("Secret plan");
  const auto id = "," + std::to_string(secret.front()) + ",";
  const auto logprob =
      "{\"token\":\"" + std::string{test::release_like()->words().bytes(secret.front())} + "\"";
  BOOST_TEST(told(answer(true), "Secret plan"));
  BOOST_TEST(told(answer(true), id));
  BOOST_TEST(told(answer(true), logprob));
  BOOST_TEST(!told(answer(false), "Secret"));
  BOOST_TEST(!told(answer(false), id));
  BOOST_TEST(!told(answer(false), logprob));
  BOOST_TEST(told(answer(false), "\"content\":\"Hello\""));
}

BOOST_AUTO_TEST_CASE(every_token_is_given_back_once_and_every_request_ends_once) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      std::uint64_t draws = 0;
      const auto below = [&](std::uint32_t n) {
        return static_cast<std::uint32_t>(uniform_draw({.seed = seed, .position = draws++}) * n);
      };
      parlour p;
      std::vector<std::pair<request_id, std::uint32_t>> alive;  // request, choice
      for (std::uint64_t r = 1; r <= 6; ++r) {
        const auto choices = 1 + below(3);
        p.admit(
            {.stream = below(2) == 0,
             .include_reasoning = below(2) == 0,
             .choices = choices,
             .stop = below(2) == 0 ? std::vector<std::string>{"e"} : std::vector<std::string>{}},
            {r});
        for (std::uint32_t c = 0; c < choices; ++c) alive.emplace_back(request_id{r}, c);
      }
      while (!alive.empty()) {  // any tokens at all, control tokens among them
        committed step;
        for (const auto& [request, choice] : alive) {
          std::vector<token_id> tokens(below(4));
          for (auto& t : tokens) t = static_cast<token_id>(below(2) == 0 ? below(1536) : below(99));
          if (!tokens.empty()) step.outputs.push_back(p.output(tokens, choice, request));
        }
        for (std::size_t i = alive.size(); i-- > 0;) {
          if (below(8) != 0) continue;
          step.finished.push_back({.id = sequence_of(alive[i].first, alive[i].second),
                                   .request = alive[i].first,
                                   .cause = static_cast<end_cause>(below(end_cause_count))});
          alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(i));
        }
        p.take(step);
      }
      BOOST_TEST(p.desk.open_requests() == 0u);
      for (std::uint64_t r = 1; r <= 6; ++r) BOOST_TEST(p.ends[request_id{r}] == 1u);
      for (const auto& [sequence, tokens] : p.produced) BOOST_TEST(p.returned[sequence] == tokens);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
