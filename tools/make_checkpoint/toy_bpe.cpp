#include "tools/make_checkpoint/toy_bpe.hpp"

#include <cstdint>
#include <map>

namespace glimmer {
namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
/// Bytes of multi-byte characters count as lower-case letters.
bool is_lower(char c) {
  return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80;
}
bool is_letter(char c) {
  return is_upper(c) || is_lower(c);
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_newline(char c) {
  return c == '\n' || c == '\r';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || is_newline(c);
}
bool is_mark(char c) {
  return !is_space(c) && !is_letter(c) && !is_digit(c);
}

template <class Predicate>
std::size_t run_end(std::string_view text, std::size_t at, const Predicate& belongs) {
  while (at < text.size() && belongs(text[at])) ++at;
  return at;
}

/// End of an English contraction ('s, 't, 're, ...) at `at`, or `at`.
std::size_t contraction_end(std::string_view text, std::size_t at) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    bool same = text.size() - at >= ending.size();
    for (std::size_t i = 0; same && i < ending.size(); ++i) {
      const char c = text[at + i];
      same = (is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c) == ending[i];
    }
    if (same) return at + ending.size();
  }
  return at;
}

/// End of the word that begins at `at`: one foreign character may lead, capitals come first.
/// `at` itself when no word begins here.
std::size_t word_end(std::string_view text, std::size_t at) {
  std::size_t letters = at;
  if (!is_letter(text[at]) && !is_digit(text[at]) && !is_newline(text[at])) ++letters;
  if (letters >= text.size() || !is_letter(text[letters])) return at;
  return contraction_end(text, run_end(text, run_end(text, letters, is_upper), is_lower));
}

/// End of a run of blanks: up to its last line break, else all but the blank before a word.
std::size_t blank_end(std::string_view text, std::size_t at) {
  const auto end = run_end(text, at, is_space);
  const auto newline = text.substr(at, end - at).find_last_of("\r\n");
  if (newline != std::string_view::npos) return at + newline + 1;
  return end < text.size() && end - at > 1 ? end - 1 : end;
}

std::size_t piece_end(std::string_view text, std::size_t at) {
  if (const auto end = word_end(text, at); end > at) return end;
  if (is_digit(text[at])) return std::min(run_end(text, at, is_digit), at + 3);
  const std::size_t marks = at + (text[at] == ' ' ? 1 : 0);
  if (marks < text.size() && is_mark(text[marks])) {
    return run_end(text, run_end(text, marks, is_mark),
                   [](char c) { return is_newline(c) || c == '/'; });
  }
  return blank_end(text, at);
}

using symbols = std::vector<std::uint32_t>;
using symbol_pair = std::pair<std::uint32_t, std::uint32_t>;

/// The most frequent adjacent pair; the lowest among equals. {0, 0} with count 0 if none is left.
std::pair<symbol_pair, std::size_t> best_pair(const std::map<symbols, std::size_t>& words) {
  std::map<symbol_pair, std::size_t> counts;
  for (const auto& [word, count] : words) {
    for (std::size_t i = 0; i + 1 < word.size(); ++i) counts[{word[i], word[i + 1]}] += count;
  }
  std::pair<symbol_pair, std::size_t> best{};
  for (const auto& [pair, count] : counts) {
    if (count > best.second) best = {pair, count};
  }
  return best;
}

symbols merged(const symbols& word, symbol_pair pair, std::uint32_t into) {
  symbols out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (i + 1 < word.size() && symbol_pair{word[i], word[i + 1]} == pair) {
      out.push_back(into);
      ++i;
    } else {
      out.push_back(word[i]);
    }
  }
  return out;
}

}  // namespace

std::vector<unsigned char> byte_order() {
  const auto printable = [](unsigned b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  std::vector<unsigned char> order;
  for (const bool wanted : {true, false}) {
    for (unsigned b = 0; b < 256; ++b) {
      if (printable(b) == wanted) order.push_back(static_cast<unsigned char>(b));
    }
  }
  return order;
}

std::vector<std::string> cut_words(std::string_view text) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = piece_end(text, at);
    pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

toy_vocabulary train_bpe(std::string_view text, std::size_t merges_max) {
  toy_vocabulary vocabulary;
  std::uint32_t id_of_byte[256];
  for (const auto b : byte_order()) {
    id_of_byte[b] = static_cast<std::uint32_t>(vocabulary.tokens.size());
    vocabulary.tokens.emplace_back(1, static_cast<char>(b));
  }
  std::map<symbols, std::size_t> words;
  for (const auto& piece : cut_words(text)) {
    symbols word;
    for (const char c : piece) word.push_back(id_of_byte[static_cast<unsigned char>(c)]);
    ++words[word];
  }
  while (vocabulary.merges.size() < merges_max) {
    const auto [pair, count] = best_pair(words);
    if (count == 0) break;
    const auto left = vocabulary.tokens[pair.first];
    const auto right = vocabulary.tokens[pair.second];
    const auto id = static_cast<std::uint32_t>(vocabulary.tokens.size());
    vocabulary.merges.emplace_back(left, right);
    vocabulary.tokens.push_back(left + right);
    std::map<symbols, std::size_t> next;
    for (const auto& [word, n] : words) next[merged(word, pair, id)] += n;
    words = std::move(next);
  }
  return vocabulary;
}

}  // namespace glimmer
