#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/request.hpp"
#include "base/result.hpp"
#include "protocol/openai/chat_request.hpp"
#include "protocol/openai/request_fields.hpp"

namespace glimmer {

/// What every request of this API has around its prompt and its sampling.

/// Parses a body that must be one object, lets `read` read it, and fails with the first refusal.
result<void> read_body(std::string_view body, const request_rules& rules,
                       const std::function<void(const request_fields&)>& read);

/// The name to answer under; an unknown model is refused with "model_not_found".
std::string read_model(const request_fields& request, const request_rules& rules);

/// A member that is known and not served.
struct unserved_field {
  std::string_view name;
  std::string_view why;           ///< the end of the sentence that says so
  std::string_view neutral = {};  ///< this string, or 1 for "1", alone or in a list: asks nothing
  bool asks_when_empty = false;   ///< an empty object asks for something too
};
/// Refuses members whose silent loss would change the answer. Null, false, neutral and empty values
/// ask for nothing.
void refuse_unserved(const request_fields& request, std::span<const unserved_field> fields);

/// stream, stream_options, n, stop, include_stop_str_in_output, return_token_ids,
/// response_format: how an answer is shaped.
void read_shape(const request_fields& request, const request_rules& rules, response_options& out);

/// priority, user, cache_salt, request_id; and fields that change nothing here, whose kinds are
/// still checked.
void read_bookkeeping(const request_fields& request, generation_request& out);

}  // namespace glimmer
