#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glimmer {

/// Why a request was turned away before any route saw it: what the error body must say.
struct http_refusal {
  int status = 400;
  std::string code;  ///< stable word, e.g. "invalid_http"
  std::string text;  ///< one sentence; never repeats bytes of the request
};

template <class T>
using http_result = std::expected<T, http_refusal>;

/// `return refuse(400, "invalid_http", "...");` in a function that returns an http_result.
struct http_status {
  int value;
};
std::unexpected<http_refusal> refuse(http_status status, std::string_view code, std::string text);

/// Request line and header fields of one request. Owns its text; views last until `clear`.
class http_request_head {
 public:
  std::string_view method() const { return view(method_); }  ///< as sent; methods have case
  std::string_view target() const { return view(target_); }  ///< as sent
  std::string_view path() const { return path_; }            ///< decoded once; for routing
  std::string_view query() const { return query_; }          ///< as sent, without '?'
  int minor_version() const { return minor_version_; }       ///< HTTP/1.x

  /// Value of the only or first field with this lower-case name, blanks trimmed.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  std::size_t field_count() const { return fields_.size(); }

  bool is_head() const { return method() == "HEAD"; }
  bool chunked() const { return chunked_; }
  std::uint64_t content_length() const { return content_length_; }  ///< 0 when chunked or absent
  bool has_body() const { return chunked_ || content_length_ > 0; }
  bool keep_alive() const { return keep_alive_; }  ///< what the client wishes
  bool expects_continue() const { return expects_continue_; }

  void clear();

 private:
  friend class http_parser;
  struct slice {
    std::uint32_t at = 0;
    std::uint32_t size = 0;
  };
  struct field {
    slice name;
    slice value;
  };

  std::string_view view(slice s) const { return std::string_view{text_}.substr(s.at, s.size); }

  // A line without its CRLF, lying in `text_`, is understood and kept.
  http_result<void> take_request_line(slice line);
  http_result<void> take_field(slice line);
  // All lines are there: what they mean for framing and connection.
  http_result<void> settle();
  http_result<void> settle_single_fields() const;
  http_result<void> settle_framing();
  http_result<void> settle_connection();

  std::string text_;
  std::vector<field> fields_;
  slice method_;
  slice target_;
  std::string path_;
  std::string query_;
  int minor_version_ = 1;
  bool chunked_ = false;
  bool keep_alive_ = true;
  bool expects_continue_ = false;
  std::uint64_t content_length_ = 0;
};

}  // namespace glimmer
