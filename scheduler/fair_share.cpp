#include "scheduler/fair_share.hpp"

#include <algorithm>
#include <vector>

namespace glimmer {

std::uint64_t fair_share::place(const std::string& client, std::uint64_t tokens) {
  auto& end = ends_[client];
  const auto start = std::max(now_, end);
  end = start + std::max<std::uint64_t>(tokens, 1);
  return start;
}

// Whose end has passed is as good as new. When too many are left, each having sent little, the
// time moves on past half of them: those who sent most stay behind.
void fair_share::served(std::uint64_t place) {
  now_ = std::max(now_, place);
  if (ends_.size() <= clients_max) return;
  const auto forget_done = [&] {
    std::erase_if(ends_, [&](const auto& client) { return client.second <= now_; });
  };
  forget_done();
  if (ends_.size() <= clients_max / 2) return;
  std::vector<std::uint64_t> ends;
  for (const auto& [client, end] : ends_) ends.push_back(end);
  const auto middle = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
  std::ranges::nth_element(ends, middle);
  now_ = std::max(now_, *middle);
  forget_done();
}

}  // namespace glimmer
