#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace glimmer {

/// One extra header field. Control bytes in the value are written as '?'.
struct http_field {
  std::string_view name;  ///< a literal
  std::string value;
};

/// An answer, or the head of a stream (then `body` is empty).
struct http_response {
  int status = 200;
  std::string_view content_type = "application/json";  ///< a literal; empty: no such field
  std::vector<http_field> fields;  ///< x-request-id, Retry-After, WWW-Authenticate, Allow, ...
  std::string body;
};

/// Head of a server-sent event stream: no cache and no proxy may hold it back.
http_response event_stream_response();

/// "Not Found" for 404; "Status" for numbers without a phrase here.
std::string_view reason_phrase(int status);

/// How the end of a body is marked.
struct http_body_framing {
  enum class kind : std::uint8_t {
    sized,        ///< content-length
    chunked,      ///< HTTP/1.1 streams
    until_close,  ///< HTTP/1.0 streams
  };
  kind what = kind::sized;
  std::size_t size = 0;
  bool keep_alive = true;
  int minor_version = 1;  ///< the request's
};

/// Appends status line and fields up to and with the blank line.
void append_response_head(std::string& out, const http_response& response,
                          const http_body_framing& framing);

/// Appends one chunk. `bytes` must not be empty: that would end the body.
void append_chunk(std::string& out, std::string_view bytes);
/// Appends the chunk that ends the body.
void append_last_chunk(std::string& out);

/// The interim answer to "Expect: 100-continue".
inline constexpr std::string_view http_continue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace glimmer
