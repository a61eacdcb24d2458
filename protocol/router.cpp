#include "protocol/router.hpp"

#include <array>

namespace glimmer {
namespace {

struct table_entry {
  std::string_view path;
  route where;
  bool post;  // else GET and HEAD
};

constexpr std::array<table_entry, 11> table = {{
    {"/v1/chat/completions", route::chat_completions, true},
    {"/v1/chat/completions/render", route::chat_render, true},
    {"/v1/completions", route::completions, true},
    {"/tokenize", route::tokenize, true},
    {"/detokenize", route::detokenize, true},
    {"/v1/models", route::models, false},
    {"/health", route::health, false},
    {"/ping", route::ping, false},
    {"/metrics", route::metrics, false},
    {"/version", route::version, false},
    {"/reset_prefix_cache", route::reset_prefix_cache, true},
}};

constexpr std::string_view abort_prefix = "/v1/chat/completions/";

}  // namespace

routing find_route(http_request_line line) {
  for (const auto& entry : table) {
    if (entry.path != line.path) continue;
    const bool allowed =
        entry.post ? line.method == "POST" : line.method == "GET" || line.method == "HEAD";
    return {entry.where, allowed, entry.post ? "POST" : "GET, HEAD"};
  }
  if (!aborted_request(line.path).empty()) {
    return {route::abort_request, line.method == "DELETE", "DELETE"};
  }
  return {};
}

std::string_view aborted_request(std::string_view path) {
  if (!path.starts_with(abort_prefix)) return {};
  const auto name = path.substr(abort_prefix.size());
  return name.find('/') == name.npos ? name : std::string_view{};
}

bool needs_api_key(route where) {
  switch (where) {
    case route::health:
    case route::ping:
    case route::metrics:
    case route::version: return false;
    default: return true;
  }
}

bool is_work(route where) {
  switch (where) {
    case route::chat_completions:
    case route::chat_render:
    case route::completions:
    case route::tokenize:
    case route::detokenize: return true;
    default: return false;
  }
}

std::string_view route_label(route where) {
  for (const auto& entry : table) {
    if (entry.where == where) return entry.path;
  }
  return where == route::abort_request ? "/v1/chat/completions/{id}" : "other";
}

}  // namespace glimmer
