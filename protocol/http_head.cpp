#include "protocol/http_head.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "protocol/http_target.hpp"

namespace glimmer {
namespace {

/// RFC 9110 token characters: methods and field names consist of these.
constexpr bool is_token_char(char c) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

/// A word of the protocol, which clients may write in any case.
struct keyword {
  std::string_view lower;
  friend bool operator==(std::string_view text, keyword word) {
    return std::ranges::equal(text, word.lower, {}, to_lower);
  }
};

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Whether a comma-separated list of tokens holds this one.
bool lists(std::string_view list, keyword word) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (trimmed(list.substr(0, comma)) == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

std::unexpected<http_refusal> invalid(std::string text) {
  return refuse({400}, "invalid_http", std::move(text));
}

/// Fields of which a second copy would let two readers see two requests, or two keys.
constexpr std::array<std::string_view, 7> single_fields = {
    "host",      "content-length", "transfer-encoding", "content-type", "authorization",
    "x-api-key", "expect"};

}  // namespace

std::unexpected<http_refusal> refuse(http_status status, std::string_view code, std::string text) {
  return std::unexpected<http_refusal>{{status.value, std::string{code}, std::move(text)}};
}

std::optional<std::string_view> http_request_head::find(std::string_view name) const {
  for (const auto& f : fields_) {
    if (view(f.name) == name) return view(f.value);
  }
  return std::nullopt;
}

std::size_t http_request_head::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(fields_, [&](const field& f) { return view(f.name) == name; }));
}

void http_request_head::clear() {
  constexpr std::size_t kept_capacity = 8 << 10;  // an unusually long head is not kept for ever
  auto text = std::move(text_);
  auto fields = std::move(fields_);
  *this = {};
  text.clear();
  fields.clear();
  if (text.capacity() <= kept_capacity) text_ = std::move(text);
  fields_ = std::move(fields);
}

// ---- lines -------------------------------------------------------------------------------------

http_result<void> http_request_head::take_request_line(slice line) {
  const auto text = view(line);
  const auto first = text.find(' ');
  const auto last = text.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return invalid("the request line must be METHOD TARGET HTTP/1.1");
  }
  method_ = {line.at, static_cast<std::uint32_t>(first)};
  target_ = {line.at + static_cast<std::uint32_t>(first) + 1,
             static_cast<std::uint32_t>(last - first - 1)};
  if (!is_token(method())) return invalid("the method holds characters that no method has");

  const auto version = text.substr(last + 1);
  if (version.size() != 8 || !version.starts_with("HTTP/") || version[6] != '.') {
    return invalid("the request line must end in HTTP/1.0 or HTTP/1.1");
  }
  if (version != "HTTP/1.0" && version != "HTTP/1.1") {
    return refuse({505}, "unsupported_http_version", "only HTTP/1.0 and HTTP/1.1 are spoken here");
  }
  minor_version_ = version.back() - '0';

  auto parsed = parse_http_target(target());
  if (!parsed) return std::unexpected{std::move(parsed.error())};
  path_ = std::move(parsed->path);
  query_ = std::move(parsed->query);
  return {};
}

http_result<void> http_request_head::take_field(slice line) {
  const auto text = view(line);
  if (is_blank(text.front())) return invalid("a header field must not be folded over lines");
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return invalid("a header field has no colon");
  if (!is_token(text.substr(0, colon))) {
    return invalid("a header field's name is empty or holds a forbidden character");
  }
  const auto value = trimmed(text.substr(colon + 1));
  const auto value_at = static_cast<std::size_t>(value.data() - text_.data());
  fields_.push_back(
      {{line.at, static_cast<std::uint32_t>(colon)},
       {static_cast<std::uint32_t>(value_at), static_cast<std::uint32_t>(value.size())}});
  const auto name = text_.begin() + line.at;
  std::transform(name, name + static_cast<std::ptrdiff_t>(colon), name, to_lower);
  return {};
}

// ---- what the lines mean together --------------------------------------------------------------

http_result<void> http_request_head::settle() {
  if (auto ok = settle_single_fields(); !ok) return ok;
  if (auto ok = settle_framing(); !ok) return ok;
  return settle_connection();
}

http_result<void> http_request_head::settle_single_fields() const {
  for (const auto name : single_fields) {
    if (count(name) > 1) return invalid("the field " + std::string{name} + " occurs twice");
  }
  const auto host = find("host");
  if (!host && minor_version_ >= 1) return invalid("an HTTP/1.1 request needs a host field");
  if (host && !is_http_host(*host)) return invalid("the host field names no host");
  return {};
}

http_result<void> http_request_head::settle_framing() {
  const auto coding = find("transfer-encoding");
  const auto length = find("content-length");
  if (coding && length) return invalid("content-length and transfer-encoding exclude each other");
  if (coding) {
    if (minor_version_ == 0) return invalid("HTTP/1.0 has no transfer-encoding");
    if (*coding != keyword{"chunked"}) {
      return refuse({501}, "unsupported_transfer_encoding",
                    "the only transfer-encoding understood is chunked");
    }
    chunked_ = true;
  }
  if (length) {
    const auto* end = length->data() + length->size();
    const auto [stopped, problem] = std::from_chars(length->data(), end, content_length_);
    if (length->empty() || problem != std::errc{} || stopped != end) {
      return invalid("content-length must be one number");
    }
  }
  const auto content_coding = find("content-encoding");
  if (content_coding && *content_coding != keyword{"identity"}) {
    return refuse({415}, "unsupported_content_encoding", "a compressed body is not understood");
  }
  return {};
}

http_result<void> http_request_head::settle_connection() {
  keep_alive_ = minor_version_ >= 1;
  bool close = false;
  for (const auto& f : fields_) {
    if (view(f.name) != "connection") continue;
    if (lists(view(f.value), {"keep-alive"})) keep_alive_ = true;
    if (lists(view(f.value), {"close"})) close = true;
  }
  if (close) keep_alive_ = false;

  if (const auto expected = find("expect"); expected && minor_version_ >= 1) {
    if (*expected != keyword{"100-continue"}) {
      return refuse({417}, "expectation_failed", "the only expectation met is 100-continue");
    }
    expects_continue_ = has_body();
  }
  return {};
}

}  // namespace glimmer
