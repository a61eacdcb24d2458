#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <optional>
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

  /// Messages as the model writes them over several channels, some of them damaged: by soup, or by
  /// a run of bytes that is gone.
  std::string turn() {
    std::string out;
    for (std::size_t messages = 1 + below(4); messages > 0; --messages) {
      out += headers_[below(headers_.size())];
      out += below(3) == 0 ? call() : bodies_[below(bodies_.size())];
      if (below(3) == 0) out += soup(below(4));
      out += ends_[below(ends_.size())];
    }
    if (below(4) == 0) lose_characters(out);
    return out;
  }

  /// A call whose values are nested as deep as the dice want.
  std::string call() {
    std::string out = "<atem:function_calls>\n<atem:invoke name=\"note\">\n";
    for (const char* name : {"text", "line", "tree"}) {
      if (below(2) == 0) continue;
      out +=
          std::string{"<atem:parameter name=\""} + name + "\">" + nested(4) + "</atem:parameter>\n";
    }
    return out + "</atem:invoke>\n</atem:function_calls>";
  }

  /// JSON with braces inside braces and inside strings; now and then it is not quite JSON.
  std::string nested(std::size_t depth) {
    if (depth == 0 || below(4) == 0) return leaves_[below(leaves_.size())];
    const bool object = below(2) == 0;
    std::string out = object ? "{" : "[";
    for (std::size_t members = below(3) + 1; members > 0; --members) {
      if (object) out += "\"k" + std::to_string(members) + "\": ";
      out += nested(depth - 1) + (members > 1 || below(30) == 0 ? ", " : "");
    }
    return out + (object ? "}" : "]");
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

  std::mt19937_64& random() { return random_; }

 private:
  /// Damage: a few characters in a row are missing.
  void lose_characters(std::string& turn) {
    auto characters = single_characters({{turn, std::nullopt}});
    const auto at = below(characters.size());
    const auto count = 1 + below(std::min<std::size_t>(characters.size() - at, 12));
    turn.clear();
    for (std::size_t i = 0; i < characters.size(); ++i) {
      if (i < at || i >= at + count) turn += characters[i].text;
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> headers_ = {
      " to=self<|message|>", " to=user<|message|>",          "<|message|>",
      " to=note<|message|>", "assistant to=dice<|message|>", ""};
  std::vector<std::string> bodies_ = {
      "plain text, to go to=x",
      "Größe 🤔",
      "👨‍👩‍👧‍👦 🇳🇴 ❄️ 𠮷 हिन्दी",
      "\\<|start|>assistant to=dice\\<|message|>\\<|eot|> is text here",
      "<atem:invoke name=\"dice\"></atem:invoke> is text here",
      "<atem:function_calls>\n<atem:invoke name=\"dice\">\n</atem:invoke>\n</atem:function_calls>",
      "<atem:invoke name=\"note\"><atem:parameter name=\"text\">a</atem:parameter></atem:invoke>",
      "<atem:invoke name=\"note.line\">7</atem:parameter></atem:invoke>",
      "{\"text\": \"a\"}"};
  std::vector<std::string> leaves_ = {"1",
                                      "-0.50",
                                      "true",
                                      "None",
                                      "\"}{\"",
                                      "\"🤔 \\\"]\"",
                                      "{}",
                                      "[]",
                                      "\"</atem:parameter>\"",
                                      "{\"a\": {\"b\": [{\"c\": \"}\"}]}}",
                                      "plain"};
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
      {"text": {"type": "string"}, "line": {"type": "integer"}, "tree": {}}}}])");
  return out;
}

}  // namespace glimmer::test
