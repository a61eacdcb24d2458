#include "parsers/stop_matcher.hpp"

#include <algorithm>
#include <utility>

namespace glimmer {

namespace {

/// For each prefix the length of its longest proper border (Knuth, Morris, Pratt 1977).
std::vector<std::uint32_t> borders(std::string_view text) {
  std::vector<std::uint32_t> out(text.size(), 0);
  std::uint32_t length = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    while (length > 0 && text[i] != text[length]) length = out[length - 1];
    if (text[i] == text[length]) ++length;
    out[i] = length;
  }
  return out;
}

}  // namespace

stop_strings::stop_strings(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) patterns_.push_back({text, borders(text)});
  }
}

stop_matcher::stop_matcher(std::shared_ptr<const stop_strings> stops, keep_match keep)
    : stops_{std::move(stops)}, keep_{keep}, matched_(stops_->patterns().size(), 0) {}

bool stop_matcher::push(std::string_view text, std::string& shown) {
  if (found_ != none) return true;
  if (matched_.empty()) {
    shown += text;
    return false;
  }
  for (char c : text) {
    held_ += c;
    if (step(c)) {
      const std::size_t cut = keep_ == keep_match::yes ? 0 : found().size();
      shown.append(held_, 0, held_.size() - cut);
      held_.clear();
      return true;
    }
  }
  const std::size_t certain = held_.size() - longest();
  shown.append(held_, 0, certain);
  held_.erase(0, certain);
  return false;
}

void stop_matcher::flush(std::string& shown) {
  shown += std::exchange(held_, {});
  std::ranges::fill(matched_, 0);
}

std::string_view stop_matcher::found() const {
  return found_ == none ? std::string_view{} : stops_->patterns()[found_].text;
}

/// Takes one byte; true when a stop string ends with it.
bool stop_matcher::step(char c) {
  for (std::size_t i = 0; i < matched_.size(); ++i) {
    const stop_strings::pattern& p = stops_->patterns()[i];
    std::uint32_t& length = matched_[i];
    while (length > 0 && p.text[length] != c) length = p.fallback[length - 1];
    if (p.text[length] == c) ++length;
    if (length < p.text.size()) continue;
    if (watching_ && (found_ == none || p.text.size() > found().size())) found_ = i;
    length = p.fallback[length - 1];
  }
  return found_ != none;
}

std::size_t stop_matcher::longest() const {
  return *std::max_element(matched_.begin(), matched_.end());
}

}  // namespace glimmer
