#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/limits.hpp"
#include "protocol/http_head.hpp"

namespace glimmer {

enum class http_event : std::uint8_t {
  need_more,  ///< all bytes are consumed (or the request is complete): feed again
  head,       ///< `head()` is whole; the body, if any, comes with the next calls
  body,       ///< `data()` is more of the body
  complete,   ///< the request has ended; `reset()` before the next
  refused,    ///< `refusal()`; the byte stream cannot be trusted any further
};

/// Incremental parser of HTTP/1.0 and 1.1 requests. Strict where two readers could disagree about
/// where a request ends: one Content-Length or one "chunked", never both; lines end in CRLF; no
/// folded fields, no blanks around names, no control bytes. The same requests and refusals
/// for any cut of the input (of two faults in one line, a cut may tell the other). Not thread-safe.
class http_parser {
 public:
  explicit http_parser(const limits& bounds);

  /// Consumes from the front of `bytes` until there is something to tell.
  http_event next(std::string_view& bytes);

  const http_request_head& head() const { return head_; }
  /// Body bytes of the last `body` event; they lie in the bytes passed to `next`.
  std::string_view data() const { return data_; }
  const http_refusal& refusal() const { return refusal_; }

  /// Body bytes still to come, as far as the client declared them; nullopt when chunked.
  std::optional<std::uint64_t> body_left() const;
  /// Whether a byte of the current request's head has been seen.
  bool started() const { return state_ != state::head_line || !head_.text_.empty(); }

  /// Makes ready for the next request on the connection.
  void reset();

 private:
  enum class state : std::uint8_t {
    head_line,
    body_start,
    fixed_body,
    chunk_size,
    chunk_data,
    chunk_end,
    trailer,
    complete,
    refused,
  };

  std::optional<http_event> step(std::string_view& bytes);
  std::optional<http_event> step_head(std::string_view& bytes);
  std::optional<http_event> step_fixed_body(std::string_view& bytes);
  std::optional<http_event> step_chunk_size(std::string_view& bytes);
  std::optional<http_event> step_chunk_data(std::string_view& bytes);
  std::optional<http_event> step_chunk_end(std::string_view& bytes);
  std::optional<http_event> step_trailer(std::string_view& bytes);

  http_result<bool> take_line(std::string& into, std::string_view& bytes);
  http_result<void> take_head_line(http_request_head::slice line);
  http_result<void> start_chunk(std::string_view line);
  http_event refused(http_refusal why);

  limits bounds_;
  state state_ = state::head_line;
  http_request_head head_;
  std::size_t line_begin_ = 0;     // of the unfinished line in head_.text_
  std::string line_;               // unfinished chunk-size or trailer line
  std::size_t framing_bytes_ = 0;  // of the trailer so far
  std::uint64_t left_ = 0;         // of a fixed body or of the current chunk
  std::uint64_t body_bytes_ = 0;
  std::string_view data_;
  http_refusal refusal_;
};

}  // namespace glimmer
