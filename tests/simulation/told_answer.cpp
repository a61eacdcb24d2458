#include "tests/simulation/told_answer.hpp"

#include <charconv>
#include <cstdlib>

namespace glimmer {
namespace {

void append_text(std::string& to, const json& from, std::string_view name) {
  const auto text = from.find(name);
  if (text && text->is_string()) to += text->string();
}

void add_calls(told_choice& to, const json& message) {
  const auto calls = message.find("tool_calls");
  if (!calls || !calls->is_array()) return;
  std::size_t place = 0;
  for (const auto& call : calls->elements()) {
    const auto index = call.find("index");
    auto& told = to.calls[index ? static_cast<std::size_t>(*index->integer()) : place];
    ++place;
    const auto function = call.find("function");
    if (!function) continue;
    if (const auto name = function->find("name"); name && name->is_string()) {
      told += std::string{name->string()} + "(";
    }
    append_text(told, *function, "arguments");
  }
}

}  // namespace

void told_answer::add(const json& part) {
  if (const auto wrong = part.find("error"); wrong && wrong->is_object()) {
    const auto code = wrong->find("code");
    error = code && code->is_string() ? std::string{code->string()} : "";
  }
  const auto list = part.find("choices");
  if (!list || !list->is_array()) return;
  for (const auto& one : list->elements()) {
    auto& to = choices[static_cast<std::size_t>(*one.find("index")->integer())];
    auto message = one.find("message");
    if (!message) message = one.find("delta");
    append_text(to.content, *message, "content");
    append_text(to.reasoning, *message, "reasoning");
    add_calls(to, *message);
    append_text(to.finish_reason, one, "finish_reason");
    const auto tokens = one.find("token_ids");
    if (!tokens || !tokens->is_array()) continue;
    for (const auto& id : tokens->elements()) {
      to.tokens.push_back(static_cast<token_id>(*id.integer()));
    }
  }
}

told_answer read_unary(std::string_view body) {
  told_answer out{.choices = {}, .error = {}, .done = true};
  if (const auto parsed = json::parse(body)) {
    out.add(*parsed);
  } else {
    out.error = "broken";
  }
  return out;
}

told_answer read_stream(std::string_view events) {
  told_answer out;
  for (std::size_t end; (end = events.find("\n\n")) != events.npos; events.remove_prefix(end + 2)) {
    const auto event = events.substr(0, end);
    if (!event.starts_with("data: ")) continue;  // a comment keeps the line alive
    if (event == "data: [DONE]") {
      out.done = true;
    } else if (const auto parsed = json::parse(event.substr(6))) {
      out.add(*parsed);
    } else {
      out.error = "broken";
    }
  }
  return out;
}

http_answer read_http(std::string_view bytes) {
  http_answer out;
  const auto head_end = bytes.find("\r\n\r\n");
  if (head_end == bytes.npos) return out;
  const auto head = bytes.substr(0, head_end);
  auto rest = bytes.substr(head_end + 4);
  out.status = std::atoi(std::string{head.substr(9, 3)}.c_str());
  if (head.find("\r\ntransfer-encoding: chunked") != head.npos) {
    out.stream = true;
    for (std::size_t line; (line = rest.find("\r\n")) != rest.npos;) {
      std::size_t size = 0;
      std::from_chars(rest.data(), rest.data() + line, size, 16);
      if (size == 0) {
        out.whole = true;
        break;
      }
      if (rest.size() < line + 2 + size + 2) {
        out.body += rest.substr(line + 2, size);
        break;
      }
      out.body += rest.substr(line + 2, size);
      rest.remove_prefix(line + 2 + size + 2);
    }
    return out;
  }
  const auto length = head.find("\r\ncontent-length: ");
  const auto size =
      length == head.npos
          ? 0
          : static_cast<std::size_t>(std::atoll(std::string{head.substr(length + 18)}.c_str()));
  out.body = rest.substr(0, size);
  out.whole = rest.size() >= size;
  return out;
}

}  // namespace glimmer
