#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "gpu/device.hpp"
#include "model/draft_head_config.hpp"
#include "model/forward.hpp"

namespace glimmer {

/// Keeps the residual stream behind a draft head's tapped layers, for every row of a step: what the
/// head makes its context of. One step's rows live until the next step.
class feature_taps {
 public:
  /// `limits`: the target's; there is a row for each of theirs. Fails with kind `device` when
  /// memory is short.
  static result<feature_taps> allocate(device& home, const draft_head_config& head,
                                       const activation_limits& limits);
  /// Bytes that `allocate` asks the device for.
  static std::size_t bytes(const draft_head_config& head, const activation_limits& limits);

  /// [rows, taps * hidden], taps side by side in the head's order.
  tensor features() const { return features_; }
  /// Stores what passes by, on the step's stream.
  layer_observer observer(ops& op, stream_handle s) const;

 private:
  std::vector<std::int64_t> taps_;
  tensor features_;
  device_buffer memory_;
};

}  // namespace glimmer
