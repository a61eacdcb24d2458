#include "protocol/http_response.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "base/assert.hpp"

namespace glimmer {
namespace {

void append_number(std::string& out, std::size_t number, int base = 10) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number, base).ptr;
  out.append(digits, end);
}

struct field_text {
  std::string_view name;
  std::string_view value;
};

/// Names are our own; values may echo a client's bytes and must not start a line of their own.
void append_field(std::string& out, field_text field) {
  out += field.name;
  out += ": ";
  const auto value_begin = out.size();
  out += field.value;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(value_begin), out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  out += "\r\n";
}

}  // namespace

http_response event_stream_response() {
  return {.status = 200,
          .content_type = "text/event-stream; charset=utf-8",
          .fields = {{"cache-control", "no-cache"}, {"x-accel-buffering", "no"}},
          .body = {}};
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

void append_response_head(std::string& out, const http_response& response,
                          const http_body_framing& framing) {
  out += "HTTP/1.1 ";
  append_number(out, static_cast<std::size_t>(response.status));
  out += ' ';
  out += reason_phrase(response.status);
  out += "\r\n";
  if (!response.content_type.empty()) append_field(out, {"content-type", response.content_type});
  for (const auto& field : response.fields) append_field(out, {field.name, field.value});
  switch (framing.what) {
    case http_body_framing::kind::sized:
      out += "content-length: ";
      append_number(out, framing.size);
      out += "\r\n";
      break;
    case http_body_framing::kind::chunked:
      append_field(out, {"transfer-encoding", "chunked"});
      break;
    case http_body_framing::kind::until_close: break;
  }
  if (!framing.keep_alive) {
    append_field(out, {"connection", "close"});
  } else if (framing.minor_version == 0) {
    append_field(out, {"connection", "keep-alive"});
  }
  out += "\r\n";
}

void append_chunk(std::string& out, std::string_view bytes) {
  GLIMMER_ASSERT(!bytes.empty(), "an empty chunk would end the body");
  append_number(out, bytes.size(), 16);
  out += "\r\n";
  out += bytes;
  out += "\r\n";
}

void append_last_chunk(std::string& out) {
  out += "0\r\n\r\n";
}

}  // namespace glimmer
