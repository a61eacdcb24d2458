#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/kv_group.hpp"
#include "executor/int_arrays.hpp"
#include "gpu/device.hpp"
#include "model/forward.hpp"
#include "scheduler/step.hpp"

namespace glimmer {

/// What the builder must know to lay rows out and to check a plan.
struct batch_shape {
  std::int64_t block_size = 16;
  std::int64_t window = 0;      ///< keys a sliding query sees, itself included
  std::int64_t vocab_size = 0;  ///< token ids lie below
  std::array<std::int64_t, kv_group_count> blocks{};  ///< block ids lie below, per group
};

/// A step's batch in host memory: every array of `forward_batch`.
struct host_batch : int_arrays {
  struct group_places {
    array_place slots;        ///< [rows]
    array_place block_table;  ///< [sequences, blocks_max], short rows filled with 0
    array_place first_block;  ///< [sequences]
    std::size_t blocks_max = 0;
  };
  array_place tokens;          ///< [rows]
  array_place positions;       ///< [rows]
  array_place wanted;          ///< [wanted]
  array_place row_begin;       ///< [sequences + 1]
  array_place first_position;  ///< [sequences]
  std::array<group_places, kv_group_count> groups;
  std::int64_t rows_max = 0;
  std::int64_t position_max = 0;
};

/// Turns step plans into batches for `decoder::forward`. Memory, here and on the device, grows to
/// the largest step seen and is used again.
class batch_builder {
 public:
  explicit batch_builder(const batch_shape& shape) : shape_{shape} {}

  /// Lays the plan out in host memory. `wanted`: rows whose logits are asked for. Asserts what a
  /// plan promises: rows side by side, ids in range, tables that cover every key a row can see.
  const host_batch& build(const step_plan& plan, std::span<const std::int32_t> wanted);

  /// Queues the upload of the last built batch on `s`. The tensors live until the next call;
  /// earlier work on other streams must be done. Fails when device memory for a larger batch is
  /// short.
  result<forward_batch> upload(device& home, stream_handle s);

 private:
  void lay_out(const step_plan& plan, std::size_t wanted);
  void fill_rows(const step_plan& plan);
  void fill_group(const step_plan& plan, kv_group group);
  void check_coverage(const sequence_rows& rows, kv_group group) const;

  batch_shape shape_;
  host_batch batch_;
  int_upload device_;
};

}  // namespace glimmer
