#include "engine/step_routing.hpp"

#include <utility>

namespace glimmer {

std::vector<std::shared_ptr<const committed>> route_step(committed step, std::size_t parsers) {
  std::vector<std::shared_ptr<committed>> shares(parsers);
  const auto share_of = [&](request_id request) -> committed& {
    auto& share = shares[parser_of(request, parsers)];
    if (!share) share = std::make_shared<committed>();
    return *share;
  };
  for (auto& output : step.outputs) {
    share_of(output.request).outputs.push_back(std::move(output));
  }
  for (auto& ending : step.finished) {
    share_of(ending.request).finished.push_back(std::move(ending));
  }
  return {shares.begin(), shares.end()};
}

}  // namespace glimmer
