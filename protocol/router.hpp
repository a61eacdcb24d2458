#pragma once

#include <cstdint>
#include <string_view>

namespace glimmer {

enum class route : std::uint8_t {
  unknown,
  chat_completions,
  chat_render,  ///< a chat's prompt and its tokens, without an answer
  completions,
  tokenize,
  detokenize,
  models,
  health,
  ping,
  metrics,
  version,
  reset_prefix_cache,
  abort_request,  ///< DELETE of a request in work, see aborted_request
};

/// Where a request goes. A known path with the wrong method has `method_allowed` false.
struct routing {
  route where = route::unknown;
  bool method_allowed = true;
  std::string_view allow;  ///< value of the Allow field, e.g. "GET, HEAD"
};

/// `method` as sent (case matters), `path` as http_request_head::path gives it. HEAD goes where
/// GET goes.
struct http_request_line {
  std::string_view method;
  std::string_view path;
};
routing find_route(http_request_line line);

/// Whether the API key is asked for, when one is configured. Everything is guarded, unknown paths
/// too, but the four endpoints that monitoring reads; the check reads the same route that serves,
/// so no spelling of a path can pass it.
bool needs_api_key(route where);

/// Which request `DELETE /v1/chat/completions/{x-request-id}` means; empty for other paths.
std::string_view aborted_request(std::string_view path);

/// Whether a request is read by a tokenizer, and passes gate 1 before its body is taken.
bool is_work(route where);

/// Label of a route in metrics, e.g. "/v1/models"; "other" for unknown ones, which are unbounded.
std::string_view route_label(route where);

}  // namespace glimmer
