#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "gpu/cpu/cpu_ops.hpp"
#include "gpu/cpu/host_view.hpp"

namespace glimmer {

namespace {

/// Query vectors that one task carries through the tiles: enough to pay for transposing the keys,
/// few enough to stay in the cache.
constexpr std::int64_t queries_per_task = 64;

struct attention_op {
  tensor out;
  tensor q;
  kv_cache cache;
  attention_layout layout;
  attention_shape shape;
  /// Keys of the rows themselves, which no cache holds.
  struct own_rows {
    tensor valid_from;
    tensor keys;
    tensor values;
  };
  std::optional<own_rows> block;

  std::int64_t group() const { return shape.query_heads / shape.kv_heads; }
  std::int64_t stride() const { return (shape.head_dim + 15) / 16 * 16; }
};

/// Positions [begin, end).
struct span_of_keys {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Positions of the sequence's rows in this batch.
span_of_keys positions_of(const attention_layout& layout, std::int64_t sequence) {
  const std::int64_t first = host<const std::int32_t>(layout.first_position)[sequence];
  const auto* const row_begin = host<const std::int32_t>(layout.row_begin) + sequence;
  return {.begin = first, .end = first + row_begin[1] - row_begin[0]};
}

struct query_place {
  std::int64_t sequence = 0;
  std::int64_t position = 0;
};

/// What a query sees: all up to itself, or with a block all of that and the valid context before
/// it; as far as the window reaches.
span_of_keys keys_seen(const attention_op& op, query_place at) {
  const auto [sequence, position] = at;
  const std::int64_t window = op.shape.window;
  const std::int64_t first = window > 0 ? std::max<std::int64_t>(0, position - window + 1) : 0;
  if (!op.block) return {.begin = first, .end = position + 1};
  const span_of_keys block = positions_of(op.layout, sequence);
  const std::int64_t valid = host<const std::int32_t>(op.block->valid_from)[sequence];
  return {.begin = std::max(first, std::min(valid, block.begin)),
          .end = window > 0 ? std::min(block.end, position + window) : block.end};
}

/// The task's working memory, cut from one run of floats.
struct attention_scratch {
  float* keys;    ///< [head_dim, key_tile]
  float* values;  ///< [key_tile, stride]
  float* q;       ///< [queries, stride]
  float* output;  ///< [queries, stride]
  float* best;    ///< [queries]
  float* total;   ///< [queries]

  static std::size_t floats(const attention_op& op, std::int64_t queries) {
    const std::int64_t rounded = (queries + 15) / 16 * 16;
    return static_cast<std::size_t>(2 * op.stride() * key_tile + 2 * rounded * op.stride() +
                                    2 * rounded);
  }
  attention_scratch(const attention_op& op, std::int64_t queries, float* memory) {
    const std::int64_t rounded = (queries + 15) / 16 * 16;
    keys = memory;
    values = keys + op.stride() * key_tile;
    q = values + op.stride() * key_tile;
    output = q + rounded * op.stride();
    best = output + rounded * op.stride();
    total = best + rounded;
    std::fill_n(q, 2 * rounded * op.stride(), 0.0f);
    std::fill_n(best, rounded, -std::numeric_limits<float>::infinity());
    std::fill_n(total, rounded, 0.0f);
  }
};

/// Key and value of one position.
struct key_place {
  const void* key = nullptr;
  const void* value = nullptr;
};

/// Where the task's key at `position` lies in the cache.
key_place cached_key(const attention_op& op, const attention_task& task, std::int64_t position) {
  const std::int64_t columns = op.layout.block_table.shape[1];
  const std::int64_t column = position / op.shape.block_size -
                              host<const std::int32_t>(op.layout.first_block)[task.sequence];
  GLIMMER_ASSERT(column >= 0 && column < columns, "a needed key's block is in the block table");
  const std::int64_t block =
      host<const std::int32_t>(op.layout.block_table)[task.sequence * columns + column];
  GLIMMER_ASSERT(block >= 0 && block < op.cache.keys.shape[0], "a block lies inside the cache");
  const std::int64_t slot = block * op.shape.block_size + position % op.shape.block_size;
  const std::int64_t at = (slot * op.shape.kv_heads + task.kv_head) * op.shape.head_dim;
  return {.key = host_at(op.cache.keys, at), .value = host_at(op.cache.values, at)};
}

/// Where it lies, in the cache or in the block.
key_place key_at(const attention_op& op, const attention_task& task, std::int64_t position) {
  if (!op.block) return cached_key(op, task, position);
  const std::int64_t behind = position - positions_of(op.layout, task.sequence).begin;
  if (behind < 0) return cached_key(op, task, position);
  const std::int64_t row = host<const std::int32_t>(op.layout.row_begin)[task.sequence] + behind;
  const std::int64_t at = (row * op.shape.kv_heads + task.kv_head) * op.shape.head_dim;
  return {.key = host_at(op.block->keys, at), .value = host_at(op.block->values, at)};
}

/// Brings keys and values of tile `tile` into scratch memory; only those in `needed` are read.
void load_tile(const cpu_kernels& kernels, const attention_op& op, const attention_task& task,
               span_of_keys needed, const attention_scratch& to) {
  std::array<const void*, key_tile> keys{};
  std::array<const void*, key_tile> values{};
  for (std::int64_t position = needed.begin; position < needed.end; ++position) {
    const key_place at = key_at(op, task, position);
    keys[static_cast<std::size_t>(position % key_tile)] = at.key;
    values[static_cast<std::size_t>(position % key_tile)] = at.value;
  }
  tile_rows rows{.row = keys.data(),
                 .type = op.cache.keys.type,
                 .head_dim = op.shape.head_dim,
                 .stride = op.stride()};
  kernels.load_keys(to.keys, rows);
  rows.row = values.data();
  kernels.load_values(to.values, rows);
}

/// Asks for keys and values at these positions: blocks lie anywhere, so the processor cannot guess
/// the next tile, and computing this one leaves it time enough.
void prefetch_tile(const attention_op& op, const attention_task& task, span_of_keys needed) {
  constexpr std::int64_t line = 64;
  const auto bytes = op.shape.head_dim * static_cast<std::int64_t>(size_of(op.cache.keys.type));
  for (std::int64_t position = needed.begin; position < needed.end; ++position) {
    const key_place at = key_at(op, task, position);
    for (const void* const row : {at.key, at.value})
      for (std::int64_t byte = 0; byte < bytes; byte += line)
        __builtin_prefetch(static_cast<const std::byte*>(row) + byte);
  }
}

/// Where query `query` of the task (its rows' heads, row by row) starts in q and out.
std::int64_t query_index(const attention_op& op, const attention_task& task, std::int64_t query) {
  const std::int64_t row = task.rows.begin + query / task.heads.count;
  const std::int64_t head = task.heads.begin + query % task.heads.count;
  return (row * op.shape.query_heads + head) * op.shape.head_dim;
}

/// Rows of a sequence at `positions`, each with `heads` queries.
struct query_rows {
  std::int64_t sequence = 0;
  row_range positions;
  std::int64_t heads = 0;
};

/// Merges one tile into the queries of each row that sees some of it.
void visit_tile(const cpu_kernels& kernels, const attention_op& op, std::int64_t tile,
                const query_rows& rows, const attention_scratch& work) {
  const std::int64_t start = tile * key_tile;
  for (std::int64_t row = 0; row < rows.positions.count; ++row) {
    const span_of_keys seen = keys_seen(op, {rows.sequence, rows.positions.begin + row});
    const std::int64_t begin = std::max(seen.begin, start);
    const std::int64_t end = std::min(seen.end, start + key_tile);
    if (begin >= end) continue;
    const std::int64_t first = row * rows.heads;
    kernels.attend({.q = work.q + first * op.stride(),
                    .count = rows.heads,
                    .head_dim = op.shape.head_dim,
                    .stride = op.stride(),
                    .keys = work.keys,
                    .values = work.values,
                    .begin = begin - start,
                    .end = end - start,
                    .scale = op.shape.scale,
                    .best = work.best + first,
                    .total = work.total + first,
                    .output = work.output + first * op.stride()});
  }
}

void run_task(cpu_arena& arena, const cpu_kernels& kernels, const attention_op& op,
              const attention_task& task) {
  const std::int64_t queries = task.queries();
  const attention_scratch work(op, queries, arena.scratch(attention_scratch::floats(op, queries)));
  for (std::int64_t query = 0; query < queries; ++query) {
    const std::int64_t at = query_index(op, task, query);
    kernels.convert({.data = work.q + query * op.stride(), .type = dtype::f32},
                    const_elements_at(op.q, at), op.shape.head_dim);
  }

  const std::int64_t first_position = positions_of(op.layout, task.sequence).begin +
                                      task.rows.begin -
                                      host<const std::int32_t>(op.layout.row_begin)[task.sequence];
  const std::int64_t last_position = first_position + task.rows.count - 1;
  const query_rows rows{.sequence = task.sequence,
                        .positions = {.begin = first_position, .count = task.rows.count},
                        .heads = task.heads.count};
  const span_of_keys needed{.begin = keys_seen(op, {task.sequence, first_position}).begin,
                            .end = keys_seen(op, {task.sequence, last_position}).end};
  for (std::int64_t tile = needed.begin / key_tile; tile * key_tile < needed.end; ++tile) {
    const span_of_keys here{.begin = std::max(needed.begin, tile * key_tile),
                            .end = std::min(needed.end, (tile + 1) * key_tile)};
    load_tile(kernels, op, task, here, work);
    prefetch_tile(op, task, {.begin = here.end, .end = std::min(needed.end, here.end + key_tile)});
    visit_tile(kernels, op, tile, rows, work);
  }

  for (std::int64_t query = 0; query < queries; ++query) {
    const std::int64_t at = query_index(op, task, query);
    kernels.divide(elements_at(op.out, at), work.output + query * op.stride(), op.shape.head_dim,
                   work.total[query]);
  }
}

/// Adds tasks for the rows, `heads_per_task` query heads each.
void add_tasks(const attention_op& op, attention_task task, std::int64_t heads_per_task,
               std::vector<attention_task>& tasks) {
  for (task.kv_head = 0; task.kv_head < op.shape.kv_heads; ++task.kv_head) {
    const std::int64_t end = (task.kv_head + 1) * op.group();
    for (std::int64_t head = task.kv_head * op.group(); head < end; head += heads_per_task) {
      task.heads = {.begin = head, .count = std::min(heads_per_task, end - head)};
      tasks.push_back(task);
    }
  }
}

/// Cuts the batch into tasks. All heads of a kv head go together, to share its transposed keys,
/// unless that leaves threads without work.
void list_tasks(const attention_op& op, std::int64_t threads, std::vector<attention_task>& tasks) {
  const auto* const row_begin = host<const std::int32_t>(op.layout.row_begin);
  const std::int64_t sequences = op.layout.first_position.shape[0];
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, queries_per_task / op.group());
  const std::int64_t whole_tasks =
      op.shape.kv_heads * std::max(sequences, (op.q.shape[0] + rows_per_task - 1) / rows_per_task);
  const std::int64_t heads_per_task =
      std::clamp<std::int64_t>(op.group() * whole_tasks / threads, 1, op.group());
  tasks.clear();
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
    const std::int64_t end = row_begin[sequence + 1];
    GLIMMER_ASSERT(row_begin[sequence] >= 0 && end <= op.q.shape[0], "rows lie inside the batch");
    for (std::int64_t row = row_begin[sequence]; row < end; row += rows_per_task) {
      const row_range rows{.begin = row, .count = std::min(rows_per_task, end - row)};
      add_tasks(op, {.sequence = sequence, .rows = rows, .heads = {}, .kv_head = 0}, heads_per_task,
                tasks);
    }
  }
}

void run_op(cpu_arena& arena, const cpu_kernels& kernels, const attention_op& op,
            stream_state& state) {
  list_tasks(op, arena.threads(), state.tasks);
  arena.for_each(state.tasks.size(),
                 [&](std::size_t task) { run_task(arena, kernels, op, state.tasks[task]); });
}

}  // namespace

void cpu_ops::attention(stream_handle s, tensor out, tensor q, const kv_cache& cache,
                        const attention_layout& layout, const attention_shape& shape) {
  const attention_op whole{
      .out = out, .q = q, .cache = cache, .layout = layout, .shape = shape, .block = {}};
  queue(s, [this, op = whole](stream_state& state) { run_op(arena_, kernels_, op, state); });
}

void cpu_ops::block_attention(stream_handle s, tensor out, tensor q, const block_keys& block,
                              const attention_layout& layout, const attention_shape& shape) {
  const attention_op whole{
      .out = out,
      .q = q,
      .cache = block.context,
      .layout = layout,
      .shape = shape,
      .block = attention_op::own_rows{block.valid_from, block.keys, block.values}};
  queue(s, [this, op = whole](stream_state& state) { run_op(arena_, kernels_, op, state); });
}

}  // namespace glimmer
