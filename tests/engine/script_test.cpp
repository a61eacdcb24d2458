#include "engine/script.hpp"

#include <boost/test/unit_test.hpp>

#include "engine/offline_engine.hpp"
#include "engine/script_stepper.hpp"
#include "tests/tokenizer/fixture.hpp"

namespace glimmer::test {

namespace {

const tokenizer& words() {
  return *release_like();
}

script read(std::string_view text) {
  auto turns = parse_script(text, words());
  BOOST_REQUIRE_MESSAGE(turns, (turns ? "" : turns.error().text));
  return std::move(*turns);
}

std::string refusal_of(std::string_view text) {
  const auto turns = parse_script(text, words());
  return turns ? "" : turns.error().text;
}

struct performance {
  std::string script;
  std::string_view prompt;
  std::uint32_t max_tokens = 400;
};

/// What one sequence gets of an engine that plays a script.
std::vector<token_id> played(const performance& wanted) {
  auto turns = read(wanted.script);
  scheduler_config config;
  config.max_model_len = 512;
  config.max_num_seqs = 4;
  config.max_num_batched_tokens = 64;
  config.blocks = {64, 64};
  config.tokens_per_step_max = turns.tokens_per_step_max();
  config.end_tokens = {words().id(control_token::eot)};
  scheduler plans{config};
  script_stepper device{std::move(turns), release_like(), [](duration) {}};
  sampling_params params;
  params.max_tokens = wanted.max_tokens;
  const auto prompt = words().encode(wanted.prompt, bos_policy::prepend);
  BOOST_REQUIRE(plans.admit(
      sequence_request{
          .request = {1},
          .choices = {{.id = {1}, .params = std::make_shared<const sampling_params>(params)}},
          .prompt = std::make_shared<const std::vector<token_id>>(*prompt)},
      {}));
  std::vector<token_id> out;
  while (const auto plan = plans.plan({})) {
    for (const auto& got : plans.commit(*device.run(*plan), {}).outputs) {
      out.insert(out.end(), got.tokens.begin(), got.tokens.end());
    }
    BOOST_TEST(!plans.check_invariants());
  }
  BOOST_TEST(plans.idle());
  BOOST_TEST(plans.stats().blocks[0].used == 0u);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(script_test)

BOOST_AUTO_TEST_CASE(spelled_special_tokens_become_their_ids) {
  const auto turns = read(R"({"match":"*","text":" to=user<|message|>Hi <| there<|eot|>"})");
  const auto& tokens = turns.turns.front().tokens;
  BOOST_TEST(words().decode(tokens) == " to=userHi <| there");
  BOOST_TEST(tokens.back() == words().id(control_token::eot));
  BOOST_TEST(std::ranges::count(tokens, words().id(control_token::message)) == 1);
}

BOOST_AUTO_TEST_CASE(parts_of_text_stay_text) {
  const auto turns =
      read(R"({"match":"*","parts":["<|eot|> is text",{"special":"<|eot|>"}],"k":4})");
  const auto& turn = turns.turns.front();
  BOOST_TEST(words().decode(turn.tokens) == "<|eot|> is text");
  BOOST_TEST(std::ranges::count(turn.tokens, words().id(control_token::eot)) == 1);
  BOOST_TEST(turn.tokens_per_step == 4u);
}

BOOST_AUTO_TEST_CASE(the_first_turn_that_matches_is_played) {
  const auto turns = read(
      "{\"match\":\"rain\",\"tokens\":[1]}\n\n{\"match\":\"*\",\"tokens\":[2],\"k\":9}\n"
      "{\"match\":\"sun\",\"tokens\":[3]}");
  BOOST_TEST(turns.find("will it rain?")->tokens.front() == 1);
  BOOST_TEST(turns.find("the sun")->tokens.front() == 2);
  BOOST_TEST(turns.tokens_per_step_max() == 9u);
  BOOST_TEST(read(R"({"match":"x","tokens":[1]})").find("y") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_wrong_line_is_named) {
  const std::string good = R"({"match":"*","text":""})";
  BOOST_TEST(refusal_of("").contains("no line"));
  BOOST_TEST(refusal_of(good + "\nnonsense").contains("line 2"));
  for (const auto* line :
       {R"({"text":"x"})", R"({"match":"*"})", R"({"match":"*","tokens":[-1]})",
        R"({"match":"*","tokens":["x"]})", R"({"match":"*","text":"x","k":0})",
        R"({"match":"*","text":"x","delay_ms":-1})", R"({"match":"*","text":"x","fails_at":-1})",
        R"({"match":"*","parts":[{}]})", R"({"match":"*","parts":[{"special":"<|nothing|>"}]})",
        "[]"}) {
    BOOST_TEST(refusal_of(line).contains("line 1"), line);
  }
}

BOOST_AUTO_TEST_CASE(a_step_fails_at_the_token_that_the_turn_names) {
  script_stepper device{read(R"({"match":"*","tokens":[1,2,3,4,5,6],"k":2,"fails_at":3})"),
                        release_like(), [](duration) {}};
  step_plan plan;
  plan.started.push_back({.id = {1},
                          .params = std::make_shared<const sampling_params>(),
                          .prompt = std::make_shared<const std::vector<token_id>>(1, token_id{7})});
  sequence_rows rows{.id = {1}, .count = 1};
  rows.ahead = 1;
  rows.sample = true;
  plan.sequences.push_back(rows);
  const auto first = device.run(plan);
  BOOST_REQUIRE(first);
  BOOST_TEST(first->sequences.at(0).tokens == (std::vector<token_id>{1, 2}));
  plan.started.clear();
  const auto second = device.run(plan);
  BOOST_REQUIRE(!second);
  BOOST_TEST((second.error().kind == error_kind::device));
}

BOOST_AUTO_TEST_CASE(the_last_user_message_is_found_in_a_rendered_chat) {
  std::vector<token_id> prompt;
  const auto message = [&](std::string_view role, std::string_view text) {
    prompt.push_back(words().id(control_token::start));
    BOOST_REQUIRE(words().append(role, prompt));
    prompt.push_back(words().id(control_token::message));
    BOOST_REQUIRE(words().append(text, prompt));
    prompt.push_back(words().id(control_token::eot));
  };
  message("user", "first");
  message("user", "second");
  message("assistant to=user", "third");
  BOOST_TEST(last_user_message(prompt, words()) == "second");
  const auto plain = words().encode("no chat", bos_policy::prepend);
  BOOST_TEST(last_user_message(*plain, words()) == "no chat");
}

BOOST_AUTO_TEST_CASE(a_turn_is_the_same_at_every_number_of_tokens_a_step) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "word " + std::to_string(i) + " ";
  const auto line = [&](int k) {
    return "{\"match\":\"go\",\"text\":\"" + text + "<|eot|>\",\"k\":" + std::to_string(k) + "}";
  };
  const auto whole = played({line(1), "go"});
  BOOST_TEST(words().decode(whole) == text);
  for (const int k : {2, 3, 7, 16, 1000}) {
    BOOST_TEST(played({line(k), "go"}) == whole, boost::test_tools::per_element());
    const auto cut = played({line(k), "go", 9});
    BOOST_TEST(cut == std::vector(whole.begin(), whole.begin() + 9),
               boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_sequence_without_a_turn_ends_at_once) {
  const auto out = played({R"({"match":"something","text":"x"})", "else"});
  BOOST_TEST(out == std::vector{words().id(control_token::eot)}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
