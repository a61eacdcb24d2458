#include "protocol/openai/error_body.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/json.hpp"

namespace glimmer {

namespace {

struct error_object {
  int status;
  std::string_view message;
  std::string_view param;
  std::string_view code;
};

std::string_view type_of(int status) {
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

void append(std::string& out, const error_object& e) {
  json_writer w{out};
  const auto text_or_null = [&w](std::string_view text) {
    text.empty() ? w.null() : w.string(text);
  };
  w.begin_object().key("error").begin_object();
  w.key("message").string(e.message).key("type").string(type_of(e.status));
  w.key("param");
  text_or_null(e.param);
  w.key("code");
  text_or_null(e.code);
  w.end_object().end_object();
}

/// Whether the text is about our own insides, which are nobody's business outside.
bool is_internal(const error& e) {
  return e.kind == error_kind::device || e.kind == error_kind::bug;
}

error_object object_of(const error& e) {
  if (is_internal(e)) {
    return {500, "The server failed while it worked on this request.", "", "internal_error"};
  }
  return {status_of(e), e.text, e.param, e.code};
}

// Clients wait at most two minutes; asked for more they give up at once.
constexpr std::uint32_t retry_after_ms_max = 120'000;

void add_retry_fields(http_response& response, std::uint32_t retry_after_ms) {
  const auto wait_ms = std::clamp<std::uint32_t>(retry_after_ms, 1, retry_after_ms_max);
  response.fields.push_back({"retry-after", std::to_string((wait_ms + 999) / 1000)});
  response.fields.push_back({"retry-after-ms", std::to_string(wait_ms)});
  response.fields.push_back({"x-should-retry", "true"});
}

}  // namespace

int status_of(const error& e) {
  constexpr std::array<std::pair<std::string_view, int>, 10> statuses = {{
      {"invalid_api_key", 401},
      {"method_not_allowed", 405},
      {"request_timeout", 408},
      {"length_required", 411},
      {"request_too_large", 413},
      {"unsupported_media_type", 415},
      {"expectation_failed", 417},
      {"header_too_large", 431},
      {"aborted", 499},
      {"timeout", 504},
  }};
  if (!is_internal(e)) {
    for (const auto& [code, status] : statuses) {
      if (code == e.code) return status;
    }
  }
  switch (e.kind) {
    case error_kind::bad_request: return 400;
    case error_kind::not_found: return 404;
    case error_kind::overloaded: return 429;
    case error_kind::unavailable: return 503;
    case error_kind::device: return 500;
    case error_kind::bug: return 500;
  }
  return 500;
}

http_response error_response(const error& e, std::uint32_t retry_after_ms) {
  const auto object = object_of(e);
  http_response response;
  response.status = object.status;
  append(response.body, object);
  if (object.status == 401) response.fields.push_back({"www-authenticate", "Bearer"});
  if (object.status == 429 || object.status == 503) add_retry_fields(response, retry_after_ms);
  return response;
}

http_response error_response(const http_refusal& refusal) {
  http_response response;
  response.status = refusal.status;
  append(response.body, {refusal.status, refusal.text, "", refusal.code});
  // Clients take every status from 500 on for something that may pass.
  if (refusal.status >= 500) response.fields.push_back({"x-should-retry", "false"});
  return response;
}

void append_error_object(std::string& out, const error& e) {
  append(out, object_of(e));
}

}  // namespace glimmer
