#include "bench/program/http_answer.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace glimmer {
namespace {

std::string lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

/// The trimmed value of a field of a head in lower case; empty if there is none.
std::string_view field_of(const std::string& all, std::string_view name) {
  const std::string_view head = all;
  const auto at = head.find("\r\n" + std::string{name} + ":");
  if (at == head.npos) return {};
  auto value = head.substr(at + name.size() + 3);
  value = value.substr(0, value.find("\r\n"));
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value.substr(0, value.find_last_not_of(' ') + 1);
}

bool read_number(std::string_view text, int base, std::size_t& to) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), to, base);
  return code == std::errc{} && end != text.data();
}

}  // namespace

std::vector<std::string> http_answer::push(std::string_view bytes) {
  std::vector<std::string> lines;
  raw_ += bytes;
  if (state_ == state::head && !read_head()) return lines;
  if (state_ == state::body && framing_ != framing::chunked) read_sized();
  while (state_ == state::body && framing_ == framing::chunked && read_chunk()) {
  }
  take(lines);
  return lines;
}

std::vector<std::string> http_answer::close() {
  std::vector<std::string> lines;
  if (state_ == state::done) return lines;
  const bool whole = state_ == state::body && framing_ == framing::until_close;
  state_ = whole ? state::done : state::broken;
  take(lines);
  return lines;
}

/// False until the head is whole.
bool http_answer::read_head() {
  const auto end = raw_.find("\r\n\r\n");
  if (end == raw_.npos) return false;
  const auto head = lower(std::string_view{raw_}.substr(0, end + 2));
  raw_.erase(0, end + 4);
  state_ = state::body;
  std::size_t status = 0;
  if (!head.starts_with("http/1.") || head.size() < 12 ||
      !read_number(std::string_view{head}.substr(9, 3), 10, status)) {
    state_ = state::broken;
    return false;
  }
  status_ = static_cast<int>(status);
  if (field_of(head, "transfer-encoding").ends_with("chunked")) {
    framing_ = framing::chunked;
  } else if (const auto length = field_of(head, "content-length"); !length.empty()) {
    framing_ = framing::sized;
    if (!read_number(length, 10, left_)) state_ = state::broken;
  }
  return state_ == state::body;
}

void http_answer::read_sized() {
  const auto taken = framing_ == framing::sized ? std::min(left_, raw_.size()) : raw_.size();
  body_ += raw_.substr(0, taken);
  raw_.erase(0, taken);
  if (framing_ != framing::sized) return;
  left_ -= taken;
  if (left_ == 0) state_ = state::done;
}

/// One whole chunk, if it is there.
bool http_answer::read_chunk() {
  const auto line = raw_.find("\r\n");
  if (line == raw_.npos) return false;
  std::size_t size = 0;
  if (!read_number(std::string_view{raw_}.substr(0, line), 16, size)) {
    state_ = state::broken;
    return false;
  }
  if (raw_.size() < line + 2 + size + 2) return false;
  body_.append(raw_, line + 2, size);
  raw_.erase(0, line + 2 + size + 2);
  if (size == 0) state_ = state::done;
  return size != 0;
}

/// Gives out whole lines; the rest too, once the body is over.
void http_answer::take(std::vector<std::string>& lines) {
  for (auto end = body_.find('\n'); end != body_.npos; end = body_.find('\n')) {
    lines.push_back(body_.substr(0, end > 0 && body_[end - 1] == '\r' ? end - 1 : end));
    body_.erase(0, end + 1);
  }
  if (state_ != state::done || body_.empty()) return;
  lines.push_back(std::move(body_));
  body_.clear();
}

}  // namespace glimmer
