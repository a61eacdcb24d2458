#pragma once

#include <cstdint>
#include <vector>

#include "executor/int_arrays.hpp"
#include "model/draft_head.hpp"
#include "scheduler/draft.hpp"

namespace glimmer {

/// What the builder must know to lay rows out and to check a plan.
struct draft_shape {
  std::int64_t block_size = 16;  ///< positions of a KV block
  std::int64_t blocks = 0;       ///< block ids of the sliding group lie below
  std::int64_t drafts_max = 0;   ///< of one sequence
  token_id mask_token = 0;
  std::int64_t vocab_size = 0;    ///< token ids lie below
  std::int64_t feature_rows = 0;  ///< rows of a step lie below
};

/// A draft plan in host memory: every array of `context_rows` and `draft_blocks`.
struct host_draft_batch : int_arrays {
  array_place context;            ///< [n] rows of the step
  array_place context_positions;  ///< [n]
  array_place context_slots;      ///< [n]
  array_place tokens;             ///< [rows]
  array_place positions;          ///< [rows]
  array_place wanted;             ///< [drafts of all sequences]
  array_place row_begin;          ///< [blocks + 1]
  array_place first_position;     ///< [blocks]
  array_place valid_from;         ///< [blocks]
  array_place block_table;        ///< [blocks, columns], short rows filled with 0
  array_place first_block;        ///< [blocks]
  std::size_t columns = 0;
  std::int64_t rows_max = 0;
  std::int64_t position_max = 0;
};

/// Turns draft plans into batches for the draft head; memory is used again.
class draft_batch_builder {
 public:
  explicit draft_batch_builder(const draft_shape& shape) : shape_{shape} {}

  /// Lays the plan out in host memory. Rows whose blocks have left the table are not written, and
  /// context whose blocks have left it is not valid. Asserts what a plan promises: ids in range,
  /// rows of the step, tables that reach up to the anchor.
  const host_draft_batch& build(const draft_plan& plan);

  /// Queues the upload of the last built batch on `s`; what `context` and `blocks` then give lives
  /// until the next call. Fails when device memory for a larger batch is short.
  result<void> upload(device& home, stream_handle s);
  context_rows context(tensor features) const;
  draft_blocks blocks() const;

 private:
  void lay_out(const draft_plan& plan);
  void fill_context(const draft_plan& plan);
  void fill_block(const draft_plan& plan, const draft_rows& rows);
  std::int64_t first_written(const draft_rows& rows) const;
  std::int64_t valid_from(const draft_rows& rows) const;
  void check(const draft_plan& plan, const draft_rows& rows) const;

  draft_shape shape_;
  host_draft_batch batch_;
  int_upload device_;
  std::size_t blocks_filled_ = 0;  // while a batch is built
};

}  // namespace glimmer
