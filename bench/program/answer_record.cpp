#include "bench/program/answer_record.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace glimmer {
namespace {

/// Whether a choice of a chunk carries something: text, any string of a delta but its role, a call.
bool has_content(const json& choice) {
  const auto filled = [](const json& value) {
    return (value.is_string() && !value.string().empty()) || (value.is_array() && value.size() > 0);
  };
  if (const auto text = choice.find("text")) return filled(*text);
  const auto delta = choice.find("delta");
  if (!delta || !delta->is_object()) return false;
  return std::ranges::any_of(delta->elements(), [&](const json& member) {
    return member.key() != "role" && filled(member);
  });
}

}  // namespace

void answer_record::line(std::string_view text, double now) {
  constexpr std::string_view mark = "data:";
  if (text.empty() || text.starts_with(':') || text.starts_with("event:")) return;
  if (!text.starts_with(mark)) {
    complaint_ += text;
    return;
  }
  text.remove_prefix(std::min(text.find_first_not_of(' ', mark.size()), text.size()));
  if (text == "[DONE]") {
    done_ = true;
    return;
  }
  const auto event = json::parse(text);
  if (!event || event->find("error")) {
    complaint_ += text;
    return;
  }
  if (const auto usage = event->find("usage"); usage && usage->is_object()) {
    const auto count = usage->find("completion_tokens");
    if (count && count->is_number() && count->integer().value_or(-1) >= 0)
      usage_ = static_cast<std::size_t>(*count->integer());
  }
  const auto choices = event->find("choices");
  if (choices && choices->is_array() && std::ranges::any_of(choices->elements(), has_content))
    times_.push_back(now);
}

void answer_record::end(bool ok, double now) {
  ok_ = ok && done_ && complaint_.empty() && !times_.empty();
  whole_ = now;
}

std::vector<double> answer_record::gaps() const {
  std::vector<double> out;
  for (std::size_t i = 1; i < times_.size(); ++i) out.push_back(times_[i] - times_[i - 1]);
  return out;
}

std::optional<double> answer_record::per_token() const {
  if (tokens() < 2 || times_.size() < 2) return std::nullopt;
  return (times_.back() - times_.front()) / static_cast<double>(tokens() - 1);
}

}  // namespace glimmer
