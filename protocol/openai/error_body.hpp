#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "protocol/http_head.hpp"
#include "protocol/http_response.hpp"

namespace glimmer {

/// HTTP status of an error: its code where the code means a status of its own, else its kind.
int status_of(const error& e);

/// The whole answer: status, the object {"error":{message,type,param,code}}, and the fields that
/// clients act on (Retry-After and retry-after-ms with 429 and 503, WWW-Authenticate with 401).
/// Failures of the server keep their text to themselves. `retry_after_ms`: up to two minutes,
/// clients do not retry at all beyond that. 405 also needs `Allow`, which the router knows.
http_response error_response(const error& e, std::uint32_t retry_after_ms = 1000);

/// The same for what was turned away before any route saw it.
http_response error_response(const http_refusal& refusal);

/// Appends {"error":{...}}, the payload of an error inside a stream.
void append_error_object(std::string& out, const error& e);

}  // namespace glimmer
