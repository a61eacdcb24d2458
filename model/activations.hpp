#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "gpu/device.hpp"
#include "model/config.hpp"

namespace glimmer {

/// How large one step may be, and in which type it is computed.
struct activation_limits {
  std::int64_t rows = 0;         ///< tokens of one step
  std::int64_t wanted_rows = 0;  ///< rows of one step whose logits are asked for
  dtype type = dtype::bf16;      ///< bf16, or f32 for comparisons
};

/// Rows of one step: all of them, and those whose logits are asked for.
struct step_rows {
  std::int64_t all = 0;
  std::int64_t wanted = 0;
};

/// Scratch tensors of one step, each cut to the step's rows.
struct activation_views {
  tensor hidden;     ///< [rows, hidden] the residual stream h
  tensor normed;     ///< [rows, hidden] x, and u behind a sublayer
  tensor sublayer;   ///< [rows, hidden] a or m
  tensor q;          ///< [rows, query width], then the attention's output
  tensor k;          ///< [rows, kv width]
  tensor v;          ///< [rows, kv width]
  tensor gate;       ///< [rows, query width]
  tensor mlp_gate;   ///< [rows, intermediate]
  tensor mlp_up;     ///< [rows, intermediate]
  tensor head_rows;  ///< [wanted rows, hidden]
  tensor logits;     ///< [wanted rows, vocab] f32
};

/// All scratch memory of a forward pass, sized once; a step allocates nothing.
class activations {
 public:
  activations() = default;
  static result<activations> allocate(device& home, const text_config& config,
                                      const activation_limits& limits);
  /// Bytes that `allocate` asks the device for.
  static std::size_t bytes(const text_config& config, const activation_limits& limits);

  const activation_limits& limits() const { return limits_; }
  /// Views for a step of so many rows; asserts the limits.
  activation_views take(step_rows rows) const;

 private:
  activation_limits limits_;
  activation_views whole_;
  device_buffer buffer_;
};

}  // namespace glimmer
