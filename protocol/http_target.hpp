#pragma once

#include <string>
#include <string_view>

#include "protocol/http_head.hpp"

namespace glimmer {

/// The request target in the one form that routing and the key check both read.
struct http_target {
  std::string path;   ///< percent-decoded once; begins with '/', or is "*"
  std::string query;  ///< as sent, without '?'
};

/// Understands origin form ("/v1/models?x"), absolute form ("http://host/v1/models") and "*".
/// Whatever a second reader could understand otherwise is refused with 400: dot segments, encoded
/// slashes, backslashes, percent signs and control bytes, fragments, user names. Empty segments
/// are kept, so "//v1/models" is not the route "/v1/models".
http_result<http_target> parse_http_target(std::string_view target);

/// Whether `text` can be a Host: name, IPv4 or bracketed IPv6, optional port; may be empty.
bool is_http_host(std::string_view text);

}  // namespace glimmer
