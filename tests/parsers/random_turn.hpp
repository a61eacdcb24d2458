#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/parsers/pages.hpp"

namespace glimmer::test {

/// Draws turns out of the pieces that parsers trip over, and cuts them.
class turn_source {
 public:
  explicit turn_source(std::uint64_t seed) : random_{seed} { BOOST_TEST_MESSAGE("seed " << seed); }

  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>{0, count - 1}(random_);
  }

  /// Fragments in any order: mostly nonsense.
  std::string soup(std::size_t fragments) {
    std::string out;
    for (std::size_t i = 0; i < fragments; ++i) out += fragments_[below(fragments_.size())];
    return out;
  }

  /// Messages as the model writes them, some of them damaged by soup.
  std::string turn() {
    std::string out;
    for (std::size_t messages = 1 + below(4); messages > 0; --messages) {
      out += headers_[below(headers_.size())];
      out += bodies_[below(bodies_.size())];
      if (below(3) == 0) out += soup(below(4));
      out += ends_[below(ends_.size())];
    }
    return out;
  }

  /// The same input with its text in random runs of whole characters.
  pieces shred(const pieces& input) {
    pieces out;
    for (auto& p : single_characters(input)) {
      const bool join = !out.empty() && !p.special && !out.back().special && below(4) != 0;
      if (join) {
        out.back().text += p.text;
      } else {
        out.push_back(std::move(p));
      }
    }
    return out;
  }

 private:
  std::mt19937_64 random_;
  std::vector<std::string> headers_ = {
      " to=self<|message|>", " to=user<|message|>",          "<|message|>",
      " to=note<|message|>", "assistant to=dice<|message|>", ""};
  std::vector<std::string> bodies_ = {
      "plain text, to go to=x",
      "Größe 🤔",
      "<atem:function_calls>\n<atem:invoke name=\"dice\">\n</atem:invoke>\n</atem:function_calls>",
      "<atem:invoke name=\"note\"><atem:parameter name=\"text\">a</atem:parameter></atem:invoke>",
      "<atem:invoke name=\"note.line\">7</atem:parameter></atem:invoke>",
      "{\"text\": \"a\"}"};
  std::vector<std::string> ends_ = {"<|eom|><|start|>assistant", "<|eom|>", "<|start|>assistant",
                                    "<|eot|>", " "};
  std::vector<std::string> fragments_ = {"<|start|>",
                                         "<|message|>",
                                         "<|eom|>",
                                         "assistant",
                                         " to=",
                                         "to=self",
                                         "to=user",
                                         "to=dice",
                                         "user",
                                         "tool",
                                         " ",
                                         "\n",
                                         "x",
                                         "é",
                                         "🤔",
                                         "<",
                                         ">",
                                         "\"",
                                         "'",
                                         "</",
                                         "<atem:",
                                         "name=",
                                         "<atem:function_calls>",
                                         "</atem:function_calls>",
                                         "<atem:invoke name=\"dice\">",
                                         "<atem:invoke name=\"note\">",
                                         "<invoke name='note'>",
                                         "<atem:invoke name=\"note",
                                         "</atem:invoke>",
                                         "</invoke>",
                                         "<atem:parameter name=\"text\">",
                                         "<parameter name=line>",
                                         "</atem:parameter>",
                                         "</parameter>",
                                         "5",
                                         "{\"a\": [1]}",
                                         "END",
                                         "<|eo",
                                         "\x01"};
};

/// Two tools for such turns.
inline turn_parser::options dice_and_note() {
  turn_parser::options out = plain_options();
  out.tools = tools_of(R"([{"name": "dice"}, {"name": "note", "parameters": {"properties":
      {"text": {"type": "string"}, "line": {"type": "integer"}}}}])");
  return out;
}

}  // namespace glimmer::test
