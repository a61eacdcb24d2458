#include "model/feature_taps.hpp"

#include <algorithm>
#include <utility>

namespace glimmer {

std::size_t feature_taps::bytes(const draft_head_config& head, const activation_limits& limits) {
  return static_cast<std::size_t>(limits.rows * head.feature_width()) * size_of(limits.type);
}

result<feature_taps> feature_taps::allocate(device& home, const draft_head_config& head,
                                            const activation_limits& limits) {
  auto memory = home.allocate(bytes(head, limits));
  if (!memory) return fail(memory.error());
  feature_taps taps;
  taps.taps_ = head.taps;
  taps.features_ = memory->view(limits.type, {limits.rows, head.feature_width()});
  taps.memory_ = std::move(*memory);
  return taps;
}

layer_observer feature_taps::observer(ops& op, stream_handle s) const {
  return [this, &op, s](std::int64_t layer, tensor hidden) {
    const auto at = std::ranges::find(taps_, layer);
    if (at == taps_.end()) return;
    op.store_columns(s, features_, (at - taps_.begin()) * hidden.shape[1], hidden);
  };
}

}  // namespace glimmer
