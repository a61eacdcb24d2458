// Writes the tables behind tokenizer/char_class.hpp. Runs while building.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tokenizer/char_class.hpp"
#include "tokenizer/utf8.hpp"

namespace {

using glimmer::char_class;
using row = std::array<std::uint8_t, 256>;

constexpr char32_t code_points = 0x110000;

struct rule {
  const char* pattern;
  char_class value;
};

constexpr rule rules[] = {
    {"[\\p{Lu}\\p{Lt}]+", char_class::upper},
    {"\\p{Ll}+", char_class::lower},
    {"[\\p{Lm}\\p{Lo}]+", char_class::caseless},
    {"\\p{M}+", char_class::mark},
    {"\\p{N}+", char_class::number},
    {"[\\p{Z}\\t-\\r\\x{85}]+", char_class::space},
    {"[\\r\\n]+", char_class::newline},
};

/// Every code point in order, and the code point at each byte.
struct all_text {
  std::string bytes;
  std::vector<char32_t> at;
};

all_text every_code_point() {
  all_text all;
  for (char32_t c = 0; c < code_points; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    glimmer::append_utf8(all.bytes, c);
    all.at.resize(all.bytes.size(), c);
  }
  return all;
}

void mark_matches(const rule& r, const all_text& all, std::vector<std::uint8_t>& classes) {
  int code = 0;
  PCRE2_SIZE where = 0;
  pcre2_code* regex = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(r.pattern), PCRE2_ZERO_TERMINATED,
                                    PCRE2_UTF | PCRE2_UCP, &code, &where, nullptr);
  if (regex == nullptr) std::abort();
  pcre2_match_data* match = pcre2_match_data_create(1, nullptr);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(all.bytes.data());
  for (PCRE2_SIZE from = 0; pcre2_match(regex, subject, all.bytes.size(), from, PCRE2_NO_UTF_CHECK,
                                        match, nullptr) > 0;) {
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match);
    for (PCRE2_SIZE i = ends[0]; i < ends[1]; ++i) {
      classes[all.at[i]] = static_cast<std::uint8_t>(r.value);
    }
    from = ends[1];
  }
  pcre2_match_data_free(match);
  pcre2_code_free(regex);
}

template <class Values>
void print(std::ofstream& out, const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    out << unsigned{values[i]} << (i % 32 == 31 ? ",\n" : ",");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  std::vector<std::uint8_t> classes(code_points, 0);
  const all_text all = every_code_point();
  for (const rule& r : rules) mark_matches(r, all, classes);

  std::map<row, std::uint16_t> known;
  std::vector<row> cells;
  std::vector<std::uint16_t> rows;
  for (char32_t first = 0; first < code_points; first += 256) {
    row r;
    std::copy_n(classes.begin() + first, 256, r.begin());
    const auto [it, fresh] = known.emplace(r, static_cast<std::uint16_t>(cells.size()));
    if (fresh) cells.push_back(r);
    rows.push_back(it->second);
  }

  std::ofstream out{arguments[1]};
  out << "#include \"tokenizer/char_class.hpp\"\n"
         "namespace glimmer::detail {\nconst std::uint16_t char_class_rows[0x1100] = {\n";
  print(out, rows);
  out << "};\nconst std::uint8_t char_class_cells[][256] = {\n";
  for (const row& r : cells) {
    out << "{";
    print(out, r);
    out << "},\n";
  }
  out << "};\n}  // namespace glimmer::detail\n";
  return out.flush() ? 0 : 1;
}
