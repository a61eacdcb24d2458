// A drafter that is there, dead, slow or absent: the same answers.
#include "actors/drafter.hpp"

#include "tests/actors/stage.hpp"

namespace glimmer::test {
namespace {

constexpr auto streamed = R"("max_tokens": 300, "stream": true, "seed": 1)";

/// All deltas of an answer in one: how they are cut depends on how many tokens came in a step.
std::string text_of(const answer_part& answer) {
  std::string out;
  for (std::string_view rest = answer.bytes; rest.starts_with("data: {");) {
    const auto end = rest.find("\n\n");
    const auto choice = parse_json(rest.substr(6, end - 6)).find("choices");
    rest.remove_prefix(end + 2);
    if (!choice || choice->size() == 0) continue;
    const auto delta = choice->at(0).find("delta");
    for (const auto* name : {"reasoning", "content"}) {
      const auto field = delta ? delta->find(name) : std::nullopt;
      if (field && field->is_string()) out += field->string();
    }
    const auto reason = choice->at(0).find("finish_reason");
    if (reason && reason->is_string()) out += reason->string();
  }
  return out;
}

std::string answer_without_drafts() {
  stage s;
  s.wait_ready();
  return text_of(s.submit(streamed).whole());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(drafter_test)

BOOST_AUTO_TEST_CASE(a_drafter_brings_the_same_answer_in_fewer_steps) {
  const auto expected = answer_without_drafts();
  BOOST_TEST(expected.ends_with("length"));
  stage s{{.drafting = true}};
  s.wait_ready();
  BOOST_TEST(text_of(s.submit(streamed).whole()) == expected);
  BOOST_TEST(s.gate->drafted() > 0u);
  BOOST_TEST(s.gate->steps_with(sequence_of(request_id{1}, 0)) < 200u);
}

BOOST_AUTO_TEST_CASE(killing_the_drafter_amid_8_streams_changes_no_token_and_drafting_resumes) {
  const auto expected = answer_without_drafts();
  stage s{{.drafting = true}};
  s.wait_ready();
  std::vector<inbox> all;
  for (int i = 0; i < 8; ++i) all.push_back(s.submit(streamed));
  for (const auto& one : all) one.wait_parts(3);
  s.gate->shut_drafter();
  s.gate->wait_drafter_inside();
  s.gate->kill_drafter();
  const auto before = s.gate->drafted();
  s.gate->open_drafter();
  s.gate->wait_drafted(before + 5);
  BOOST_TEST(s.gate->drafters() == 2u);
  for (const auto& one : all) {
    BOOST_TEST(text_of(one.whole()) == expected);
    BOOST_TEST(one.ends() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(a_drafter_that_hangs_is_not_waited_for) {
  const auto expected = answer_without_drafts();
  stage s{{.drafting = true, .draft_wait_max = std::chrono::milliseconds{1}}};
  s.wait_ready();
  s.gate->shut_drafter();
  const auto first = s.submit(streamed);
  s.gate->wait_drafter_inside();
  BOOST_TEST(text_of(first.whole()) == expected);
  const auto before = s.gate->drafted();
  s.gate->open_drafter();
  s.gate->wait_drafted(before + 1);
  BOOST_TEST(text_of(s.submit(streamed).whole()) == expected);
  BOOST_TEST(s.gate->drafters() == 1u);
}

BOOST_AUTO_TEST_CASE(an_engine_whose_drafter_cannot_be_made_serves_all_the_same) {
  const auto refuse = []() -> result<std::unique_ptr<proposer>> {
    return fail({error_kind::device, "out_of_memory", "", "No memory for the draft head."});
  };
  stage s{{.drafting = true, .draft = refuse}};
  s.wait_ready();
  BOOST_TEST(text_of(s.submit(streamed).whole()) == answer_without_drafts());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer::test
