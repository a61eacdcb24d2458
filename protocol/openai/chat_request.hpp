#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "base/request.hpp"
#include "base/result.hpp"
#include "base/sampling_params.hpp"

namespace glimmer {

/// What the server holds requests against.
struct request_rules {
  std::vector<std::string> served_models;  ///< the first one serves requests that name none
  sampling_params defaults;                ///< max_tokens other than 0 caps every request
  std::uint32_t vocab_tokens = 0;          ///< token ids are below
  limits bounds;
};

/// Reads the body of POST /v1/chat/completions.
///
/// Every known field is checked; the first one that is wrong is named in `error::param` and the
/// sentence says what is allowed. Members nobody knows are accepted in silence, as other servers
/// do. What is known but not served is refused with code "unsupported_parameter", never ignored:
/// forced tool choice, response formats and other grammars, ...
/// Images and videos stay parts of the prompt; whoever prepares it decides.
/// Fails with kind not_found and code "model_not_found" when the model is not served.
result<generation_request> parse_chat_request(std::string_view body, const request_rules& rules);

}  // namespace glimmer
