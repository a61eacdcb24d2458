#include "protocol/http_target.hpp"

#include <algorithm>
#include <optional>

namespace glimmer {
namespace {

std::unexpected<http_refusal> invalid(std::string text) {
  return refuse({400}, "invalid_http", std::move(text));
}

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Bytes that a target may hold: visible ASCII.
bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}

/// Decoded bytes whose meaning would depend on who decodes, and when.
bool is_ambiguous(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f || c == '/' || c == '\\' || c == '%';
}

http_result<std::string> decode_path(std::string_view raw) {
  std::string path;
  path.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\\') return invalid("the path holds a backslash");
    if (raw[i] != '%') {
      path += raw[i];
      continue;
    }
    const auto high = i + 2 < raw.size() ? hex_digit(raw[i + 1]) : std::nullopt;
    const auto low = i + 2 < raw.size() ? hex_digit(raw[i + 2]) : std::nullopt;
    if (!high || !low) return invalid("a percent sign in the path needs two hex digits");
    const auto byte = static_cast<char>(*high * 16 + *low);
    if (is_ambiguous(byte)) return invalid("the path encodes a character that it must not");
    path += byte;
    i += 2;
  }
  return path;
}

bool has_dot_segment(std::string_view path) {
  for (std::size_t begin = 1; begin <= path.size();) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto segment = path.substr(begin, end - begin);
    if (segment == "." || segment == "..") return true;
    begin = end + 1;
  }
  return false;
}

/// Length of "http://" or "https://" at the front, in any case; 0 if neither is there.
std::size_t scheme_size(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const auto same = [](char a, char lower) { return (is_alpha(a) ? a | 0x20 : a) == lower; };
    if (target.size() >= scheme.size() &&
        std::equal(scheme.begin(), scheme.end(), target.begin(),
                   [&](char lower, char a) { return same(a, lower); })) {
      return scheme.size();
    }
  }
  return 0;
}

}  // namespace

bool is_http_host(std::string_view text) {
  auto name = text;
  if (name.starts_with('[')) {
    const auto end = name.find(']');
    if (end == std::string_view::npos || end == 1) return false;
    const auto inside = name.substr(1, end - 1);
    if (!std::ranges::all_of(
            inside, [](char c) { return hex_digit(c).has_value() || c == ':' || c == '.'; })) {
      return false;
    }
    name.remove_prefix(end + 1);
    if (!name.empty() && name.front() != ':') return false;
  }
  const auto colon = std::min(name.find(':'), name.size());
  const auto port = colon < name.size() ? name.substr(colon + 1) : std::string_view{};
  return std::ranges::all_of(name.substr(0, colon),
                             [](char c) {
                               return is_alpha(c) || is_digit(c) || c == '-' || c == '.' ||
                                      c == '_';
                             }) &&
         port.size() <= 5 && std::ranges::all_of(port, is_digit);
}

http_result<http_target> parse_http_target(std::string_view target) {
  if (!std::ranges::all_of(target, is_visible)) {
    return invalid("the request target holds a blank or a byte outside ASCII");
  }
  if (target.find('#') != std::string_view::npos) {
    return invalid("the request target holds a fragment");
  }
  if (target == "*") return http_target{"*", {}};

  if (const auto scheme = scheme_size(target); scheme > 0) {
    target.remove_prefix(scheme);
    const auto end = std::min(target.find_first_of("/?"), target.size());
    const auto host = target.substr(0, end);
    if (host.empty() || !is_http_host(host)) return invalid("the request target names no host");
    target.remove_prefix(end);
  } else if (!target.starts_with('/')) {
    return invalid("the request target must begin with a slash or be an http URL");
  }

  const auto question = std::min(target.find('?'), target.size());
  auto path = decode_path(target.substr(0, question));
  if (!path) return std::unexpected{std::move(path.error())};
  if (path->empty()) *path = "/";
  if (has_dot_segment(*path)) return invalid("the path must not hold the segments . and ..");
  return http_target{std::move(*path),
                     std::string{target.substr(std::min(question + 1, target.size()))}};
}

}  // namespace glimmer
