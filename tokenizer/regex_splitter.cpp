#include "tokenizer/regex_splitter.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/core.h>
#include <pcre2.h>

#include <string>
#include <utility>

#include "tokenizer/utf8.hpp"

namespace glimmer {

namespace {

// The machine's own stack serves short matches; long ones get this much.
constexpr std::size_t jit_stack_bytes_max = 64 << 20;

std::string message_of(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

error unusable(std::string_view pattern, std::string why) {
  return {error_kind::bad_request, "unsupported_tokenizer", "pre_tokenizer",
          fmt::format("The split pattern \"{}\" cannot be used: {}.", pattern, why)};
}

/// Spells `\s` and `\S` out: PCRE2 counts U+180E among the blanks, Unicode no longer does.
result<std::string> with_unicode_blanks(std::string_view pattern) {
  constexpr std::string_view blanks = R"(\p{Z}\t-\r\x{85})";
  std::string out;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (in_class && pattern.substr(i).starts_with("[:")) {
      const std::size_t end = std::min(pattern.find(":]", i), pattern.size() - 1);
      out += pattern.substr(i, end - i);
      i = end - 1;
      continue;
    }
    if (in_class && c == '[') return fail(unusable(pattern, "it has a class within a class"));
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    if (c != '\\' || i + 1 == pattern.size()) {
      out += c;
      continue;
    }
    const char escaped = pattern[++i];
    if (escaped == 's') {
      out += in_class ? std::string{blanks} : fmt::format("[{}]", blanks);
    } else if (escaped == 'S' && !in_class) {
      out += fmt::format("[^{}]", blanks);
    } else if (escaped == 'S') {
      return fail(unusable(pattern, "\\S within a class is not supported"));
    } else {
      out += {c, escaped};
    }
  }
  return out;
}

/// What one thread needs while it matches.
class matcher {
 public:
  explicit matcher(const pcre2_code* code)
      : code_{code},
        data_{pcre2_match_data_create(1, nullptr)},
        context_{pcre2_match_context_create(nullptr)} {
    pcre2_set_match_limit(context_, ~std::uint32_t{0});
  }
  ~matcher() {
    pcre2_match_data_free(data_);
    pcre2_match_context_free(context_);
    if (stack_ != nullptr) pcre2_jit_stack_free(stack_);
  }
  matcher(const matcher&) = delete;
  matcher& operator=(const matcher&) = delete;

  struct span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  /// The next match at or behind `from`; its code is negative if there is none.
  int find(std::string_view subject, std::size_t from, span& found) {
    int code = match(subject, from);
    if (code == PCRE2_ERROR_JIT_STACKLIMIT && stack_ == nullptr) {
      stack_ = pcre2_jit_stack_create(32 << 10, jit_stack_bytes_max, nullptr);
      pcre2_jit_stack_assign(context_, nullptr, stack_);
      code = match(subject, from);
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data_);
    if (code >= 0) found = {ends[0], ends[1]};
    return code;
  }

 private:
  int match(std::string_view subject, std::size_t from) {
    return pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), from, 0,
                       data_, context_);
  }

  const pcre2_code* code_;
  pcre2_match_data* data_;
  pcre2_match_context* context_;
  pcre2_jit_stack* stack_ = nullptr;
};

/// Where to look on behind an empty match: one character later.
std::size_t step_over(std::string_view text, std::size_t i) {
  return i < text.size() ? i + first_utf8_char(text.substr(i)).length : i + 1;
}

}  // namespace

struct regex_splitter::compiled {
  pcre2_code* code = nullptr;
  ~compiled() { pcre2_code_free(code); }
};

result<std::shared_ptr<const splitter>> regex_splitter::compile(std::string_view pattern) {
  const auto spelled = with_unicode_blanks(pattern);
  if (!spelled) return fail(spelled.error());

  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int code = 0;
  PCRE2_SIZE where = 0;
  auto regex = std::make_shared<compiled>();
  regex->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled->data()), spelled->size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_MATCH_INVALID_UTF,
                              &code, &where, context);
  pcre2_compile_context_free(context);
  if (regex->code == nullptr) {
    return fail(unusable(*spelled, fmt::format("{} (at byte {})", message_of(code), where)));
  }
  pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);  // where it fails, the interpreter serves
  return std::shared_ptr<const splitter>{new regex_splitter{std::move(regex)}};
}

result<void> regex_splitter::split(std::string_view text, const piece_ends& pieces,
                                   piece_ends& out) const {
  matcher regex{regex_->code};
  std::size_t base = 0;
  for (const std::uint32_t piece_end : pieces) {
    const std::string_view piece = text.substr(base, piece_end - base);
    std::size_t done = 0;
    const auto cut_at = [&](std::size_t end) {
      if (end > done) out.push_back(static_cast<std::uint32_t>(base + end));
      done = end;
    };
    matcher::span found;
    for (std::size_t from = 0; from <= piece.size();) {
      const int code = regex.find(piece, from, found);
      if (code == PCRE2_ERROR_NOMATCH) break;
      if (code < 0) {
        return fail({error_kind::bad_request, "unsplittable_text", "",
                     fmt::format("The text cannot be cut into tokens: {}.", message_of(code))});
      }
      cut_at(found.begin);
      cut_at(found.end);
      from = found.end > found.begin ? found.end : step_over(piece, found.end);
    }
    cut_at(piece.size());
    base = piece_end;
  }
  return {};
}

}  // namespace glimmer
