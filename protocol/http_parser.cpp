#include "protocol/http_parser.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace glimmer {
namespace {

/// One chunk-size line with its extensions, which are read and forgotten.
constexpr std::size_t chunk_line_bytes_max = 256;

std::unexpected<http_refusal> invalid(std::string text) {
  return refuse({400}, "invalid_http", std::move(text));
}

/// Control bytes have no place in a line; CR only before LF, which `take_line` looks at.
bool is_forbidden(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\r' && c != '\n') || byte == 0x7f;
}

std::string_view without_crlf(std::string_view line) {
  return line.substr(0, line.size() - 2);
}

}  // namespace

http_parser::http_parser(const limits& bounds) : bounds_{bounds} {}

void http_parser::reset() {
  state_ = state::head_line;
  head_.clear();
  line_begin_ = 0;
  line_.clear();
  framing_bytes_ = 0;
  left_ = 0;
  body_bytes_ = 0;
  data_ = {};
  refusal_ = {};
}

std::optional<std::uint64_t> http_parser::body_left() const {
  if (state_ == state::complete) return 0;
  if (head_.chunked()) return std::nullopt;
  return state_ == state::fixed_body ? left_ : head_.content_length();
}

http_event http_parser::next(std::string_view& bytes) {
  for (;;) {
    if (const auto event = step(bytes)) return *event;
  }
}

http_event http_parser::refused(http_refusal why) {
  state_ = state::refused;
  refusal_ = std::move(why);
  return http_event::refused;
}

std::optional<http_event> http_parser::step(std::string_view& bytes) {
  switch (state_) {
    case state::head_line: return step_head(bytes);
    case state::body_start:
      left_ = head_.content_length();
      state_ = head_.chunked() ? state::chunk_size : state::fixed_body;
      return std::nullopt;
    case state::fixed_body: return step_fixed_body(bytes);
    case state::chunk_size: return step_chunk_size(bytes);
    case state::chunk_data: return step_chunk_data(bytes);
    case state::chunk_end: return step_chunk_end(bytes);
    case state::trailer: return step_trailer(bytes);
    case state::complete: return http_event::need_more;
    case state::refused: return http_event::refused;
  }
  return http_event::refused;
}

// ---- lines -------------------------------------------------------------------------------------

/// Moves bytes behind `into` up to and with the next LF. True when that ended a line; false when
/// the bytes ran out; a refusal when the line cannot be one.
http_result<bool> http_parser::take_line(std::string& into, std::string_view& bytes) {
  const auto newline = bytes.find('\n');
  const auto size = newline == std::string_view::npos ? bytes.size() : newline + 1;
  const auto piece = bytes.substr(0, size);
  if (std::ranges::any_of(piece, is_forbidden)) {
    return invalid("a control byte stands where HTTP text must be");
  }
  into += piece;
  bytes.remove_prefix(size);

  const auto piece_begin = into.size() - size;
  const auto carriage = into.find('\r', piece_begin - (piece_begin > 0 ? 1 : 0));
  if (carriage != std::string::npos && carriage + 1 < into.size() && into[carriage + 1] != '\n') {
    return invalid("a carriage return stands inside a line");
  }
  if (newline == std::string_view::npos) return false;
  if (into.size() < 2 || into[into.size() - 2] != '\r') {
    return invalid("a line must end in a carriage return and a line feed");
  }
  return true;
}

std::optional<http_event> http_parser::step_head(std::string_view& bytes) {
  if (bytes.empty()) return http_event::need_more;
  const auto whole = take_line(head_.text_, bytes);
  if (!whole) return refused(whole.error());
  const auto on_first_line = line_begin_ == 0;
  if (head_.text_.size() > bounds_.http_header_bytes) {
    const auto limit = std::to_string(bounds_.http_header_bytes) + " bytes";
    if (on_first_line) {
      return refused({414, "uri_too_long", "the request line is longer than " + limit});
    }
    return refused({431, "header_too_large", "the request's header is longer than " + limit});
  }
  if (!*whole) return http_event::need_more;

  const auto size = head_.text_.size() - line_begin_ - 2;
  if (size == 0 && on_first_line) {  // an empty line between requests is forgiven
    head_.text_.clear();
    return std::nullopt;
  }
  if (size > 0) {
    if (auto ok = take_head_line(
            {static_cast<std::uint32_t>(line_begin_), static_cast<std::uint32_t>(size)});
        !ok) {
      return refused(std::move(ok.error()));
    }
    line_begin_ = head_.text_.size();
    return std::nullopt;
  }
  if (auto ok = head_.settle(); !ok) return refused(std::move(ok.error()));
  if (head_.content_length() > bounds_.http_body_bytes) {
    return refused({413, "request_too_large",
                    "the request's body is longer than " + std::to_string(bounds_.http_body_bytes) +
                        " bytes"});
  }
  state_ = state::body_start;
  return http_event::head;
}

http_result<void> http_parser::take_head_line(http_request_head::slice line) {
  if (line.at == 0) return head_.take_request_line(line);
  if (head_.field_count() >= bounds_.http_header_fields) {
    return refuse({431}, "header_too_large",
                  "the request has more than " + std::to_string(bounds_.http_header_fields) +
                      " header fields");
  }
  return head_.take_field(line);
}

// ---- bodies ------------------------------------------------------------------------------------

std::optional<http_event> http_parser::step_fixed_body(std::string_view& bytes) {
  if (left_ == 0) {
    state_ = state::complete;
    return http_event::complete;
  }
  if (bytes.empty()) return http_event::need_more;
  data_ = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
  left_ -= data_.size();
  body_bytes_ += data_.size();
  bytes.remove_prefix(data_.size());
  return http_event::body;
}

std::optional<http_event> http_parser::step_chunk_size(std::string_view& bytes) {
  if (bytes.empty()) return http_event::need_more;
  const auto whole = take_line(line_, bytes);
  if (!whole) return refused(whole.error());
  if (line_.size() > chunk_line_bytes_max) {
    return refused({400, "invalid_http", "a chunk's size line is too long"});
  }
  if (!*whole) return http_event::need_more;
  if (auto ok = start_chunk(without_crlf(line_)); !ok) return refused(std::move(ok.error()));
  line_.clear();
  return std::nullopt;
}

http_result<void> http_parser::start_chunk(std::string_view line) {
  const auto size_text = line.substr(0, line.find_first_of("; \t"));
  const auto extension = line.substr(size_text.size());
  const auto* end = size_text.data() + size_text.size();
  const auto [stopped, problem] = std::from_chars(size_text.data(), end, left_, 16);
  const auto semicolon = extension.find_first_not_of(" \t");
  if (size_text.empty() || problem != std::errc{} || stopped != end ||
      (!extension.empty() &&
       (semicolon == std::string_view::npos || extension[semicolon] != ';'))) {
    return invalid("a chunk's size must be one hexadecimal number");
  }
  if (left_ >
      bounds_.http_body_bytes - std::min<std::uint64_t>(body_bytes_, bounds_.http_body_bytes)) {
    return refuse(
        {413}, "request_too_large",
        "the request's body is longer than " + std::to_string(bounds_.http_body_bytes) + " bytes");
  }
  state_ = left_ == 0 ? state::trailer : state::chunk_data;
  return {};
}

std::optional<http_event> http_parser::step_chunk_data(std::string_view& bytes) {
  if (bytes.empty()) return http_event::need_more;
  data_ = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
  left_ -= data_.size();
  body_bytes_ += data_.size();
  bytes.remove_prefix(data_.size());
  if (left_ == 0) state_ = state::chunk_end;
  return http_event::body;
}

std::optional<http_event> http_parser::step_chunk_end(std::string_view& bytes) {
  while (!bytes.empty() && line_.size() < 2) {
    if (bytes.front() != (line_.empty() ? '\r' : '\n')) {
      return refused({400, "invalid_http", "a chunk is longer than its size says"});
    }
    line_ += bytes.front();
    bytes.remove_prefix(1);
  }
  if (line_.size() < 2) return http_event::need_more;
  line_.clear();
  state_ = state::chunk_size;
  return std::nullopt;
}

std::optional<http_event> http_parser::step_trailer(std::string_view& bytes) {
  if (bytes.empty()) return http_event::need_more;
  const auto before = line_.size();
  const auto whole = take_line(line_, bytes);
  if (!whole) return refused(whole.error());
  framing_bytes_ += line_.size() - before;
  if (framing_bytes_ > bounds_.http_header_bytes) {
    return refused({431, "header_too_large", "the fields behind the body are too long"});
  }
  if (!*whole) return http_event::need_more;
  const auto ended = line_.size() == 2;
  line_.clear();  // trailer fields are read over: nothing here may depend on them
  if (!ended) return std::nullopt;
  state_ = state::complete;
  return http_event::complete;
}

}  // namespace glimmer
