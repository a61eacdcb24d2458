#include "parsers/spelled_tokens.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {

namespace {

/// Text as it is, tokens as S M E T.
std::string read(const std::vector<std::string>& inputs) {
  std::vector<spelled_tokens::piece> out;
  spelled_tokens reader;
  for (const std::string& input : inputs) reader.push(input, out);
  reader.finish(out);
  std::string shown;
  for (const auto& piece : out) {
    shown += piece.special ? std::string{"SMET"[static_cast<int>(*piece.special)]} : piece.text;
  }
  return shown;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(spelled_tokens_test)

BOOST_AUTO_TEST_CASE(five_spellings_are_tokens) {
  BOOST_TEST(read({"a<|start|>b<|message|><|eom|><|eot|><|end_of_text|>c"}) == "aSbMETTc");
}

BOOST_AUTO_TEST_CASE(lookalikes_are_text) {
  BOOST_TEST(read({"<|x|> <<|eom|> <|eo <|eom|"}) == "<|x|> <E <|eo <|eom|");
}

BOOST_AUTO_TEST_CASE(a_cut_inside_a_spelling_changes_nothing) {
  const std::string text = "a<<|start|><|st<|eot|>";
  for (std::size_t at = 0; at <= text.size(); ++at) {
    BOOST_TEST(read({text.substr(0, at), text.substr(at)}) == "a<S<|stT", "cut at " << at);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
