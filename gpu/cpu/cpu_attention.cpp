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

/// How a task's queries, keys and values lie: widened to f32, or bf16 in pairs.
template <class T>
struct attention_form;

template <>
struct attention_form<float> {
  using queries = tile_queries;
  using keys = const float*;
  static std::int64_t key_count(const attention_op& op) { return op.stride() * key_tile; }
  static std::int64_t query_count(const attention_op& op, std::int64_t heads) {
    return heads * op.stride();
  }
};

template <>
struct attention_form<bf16> {
  using queries = pair_queries;
  using keys = pair_keys;
  static std::int64_t key_count(const attention_op& op) {
    return pair_depth(op.shape.head_dim) * key_tile;
  }
  static std::int64_t query_count(const attention_op& op, std::int64_t heads) {
    return (heads + pair_queries_width - 1) / pair_queries_width * pair_queries_width *
           pair_depth(op.shape.head_dim);
  }
};

/// The task's working memory, cut from one run of floats.
template <class T>
struct attention_scratch {
  T* keys;
  T* values;
  T* q;           ///< row after row
  float* output;  ///< [queries, stride]
  float* best;    ///< [queries]
  float* total;   ///< [queries]

  static std::int64_t rounded(std::int64_t count) { return (count + 15) / 16 * 16; }
  static std::int64_t floats_of(std::int64_t values) {
    return rounded(values * static_cast<std::int64_t>(sizeof(T)) / 4);
  }

  attention_scratch(cpu_arena& arena, const attention_op& op, const attention_task& task) {
    using form = attention_form<T>;
    const std::int64_t queries = rounded(task.queries());
    const std::int64_t key_floats = floats_of(form::key_count(op));
    const std::int64_t q_count = task.rows.count * form::query_count(op, task.heads.count);
    float* const memory = arena.scratch(static_cast<std::size_t>(
        2 * key_floats + floats_of(q_count) + queries * (op.stride() + 2)));
    keys = reinterpret_cast<T*>(memory);
    values = reinterpret_cast<T*>(memory + key_floats);
    q = reinterpret_cast<T*>(memory + 2 * key_floats);
    output = memory + 2 * key_floats + floats_of(q_count);
    best = output + queries * op.stride();
    total = best + queries;
    std::fill_n(q, q_count, T{});
    std::fill_n(output, queries * op.stride(), 0.0f);
    std::fill_n(best, queries, -std::numeric_limits<float>::infinity());
    std::fill_n(total, queries, 0.0f);
  }
};

/// Key and value of one position.
struct key_place {
  const void* key = nullptr;
  const void* value = nullptr;
};

/// `count` keys and values, a position after the other.
struct key_run {
  key_place first;
  std::int64_t step = 0;  ///< elements from position to position
  std::int64_t count = 0;
};

/// Those of the task from `position` on that lie in one block of the cache.
key_run cached_keys(const attention_op& op, const attention_task& task, std::int64_t position) {
  const std::int64_t columns = op.layout.block_table.shape[1];
  const std::int64_t column = position / op.shape.block_size -
                              host<const std::int32_t>(op.layout.first_block)[task.sequence];
  GLIMMER_ASSERT(column >= 0 && column < columns, "a needed key's block is in the block table");
  const std::int64_t block =
      host<const std::int32_t>(op.layout.block_table)[task.sequence * columns + column];
  GLIMMER_ASSERT(block >= 0 && block < op.cache.keys.shape[0], "a block lies inside the cache");
  const std::int64_t offset = position % op.shape.block_size;
  const std::int64_t run = block * op.shape.kv_heads + task.kv_head;
  const std::int64_t at = (run * op.shape.block_size + offset) * op.shape.head_dim;
  return {.first = {.key = host_at(op.cache.keys, at), .value = host_at(op.cache.values, at)},
          .step = op.shape.head_dim,
          .count = op.shape.block_size - offset};
}

/// Those that lie together, in the cache or among the rows' own.
key_run keys_from(const attention_op& op, const attention_task& task, std::int64_t position) {
  if (!op.block) return cached_keys(op, task, position);
  const std::int64_t behind = position - positions_of(op.layout, task.sequence).begin;
  if (behind < 0) {
    key_run run = cached_keys(op, task, position);
    run.count = std::min(run.count, -behind);
    return run;
  }
  const std::int64_t row = host<const std::int32_t>(op.layout.row_begin)[task.sequence] + behind;
  const std::int64_t at = (row * op.shape.kv_heads + task.kv_head) * op.shape.head_dim;
  return {.first = {.key = host_at(op.block->keys, at), .value = host_at(op.block->values, at)},
          .step = op.shape.kv_heads * op.shape.head_dim,
          .count = key_tile};
}

/// Where the keys and values of a tile lie, null where none is needed.
struct tile_places {
  std::array<const void*, 2 * key_tile> row{};  ///< keys, then values

  const void* const* keys() const { return row.data(); }
  const void* const* values() const { return row.data() + key_tile; }
};

std::int64_t key_bytes(const attention_op& op) {
  return op.shape.head_dim * static_cast<std::int64_t>(size_of(op.cache.keys.type));
}

/// `needed` lies in one tile.
tile_places places_of(const attention_op& op, const attention_task& task, span_of_keys needed) {
  tile_places places;
  for (std::int64_t position = needed.begin; position < needed.end;) {
    const key_run run = keys_from(op, task, position);
    const std::int64_t step = run.step * static_cast<std::int64_t>(size_of(op.cache.keys.type));
    const auto* key = static_cast<const std::byte*>(run.first.key);
    const auto* value = static_cast<const std::byte*>(run.first.value);
    const std::int64_t end = std::min(needed.end, position + run.count);
    for (; position < end; ++position, key += step, value += step) {
      const auto at = static_cast<std::size_t>(position % key_tile);
      places.row[at] = key;
      places.row[key_tile + at] = value;
    }
  }
  return places;
}

/// Where query `query` of the task (its rows' heads, row by row) starts in q and out.
std::int64_t query_index(const attention_op& op, const attention_task& task, std::int64_t query) {
  const std::int64_t row = task.rows.begin + query / task.heads.count;
  const std::int64_t head = task.heads.begin + query % task.heads.count;
  return (row * op.shape.query_heads + head) * op.shape.head_dim;
}

/// Brings the task's queries into scratch memory.
void load_queries(const cpu_kernels& kernels, const attention_op& op, const attention_task& task,
                  float* to) {
  for (std::int64_t query = 0; query < task.queries(); ++query, to += op.stride())
    kernels.convert({.data = to, .type = dtype::f32},
                    const_elements_at(op.q, query_index(op, task, query)), op.shape.head_dim);
}

void load_queries(const cpu_kernels& kernels, const attention_op& op, const attention_task& task,
                  bf16* to) {
  for (std::int64_t row = 0; row < task.rows.count; ++row) {
    for (std::int64_t head = 0; head < task.heads.count; head += pair_queries_width) {
      std::array<const void*, pair_queries_width> rows{};
      const std::int64_t count = std::min(pair_queries_width, task.heads.count - head);
      for (std::int64_t n = 0; n < count; ++n)
        rows[static_cast<std::size_t>(n)] =
            host_at(op.q, query_index(op, task, row * task.heads.count + head + n));
      kernels.pairs.load_queries(to, {.row = rows.data(),
                                      .type = dtype::bf16,
                                      .head_dim = op.shape.head_dim,
                                      .stride = op.stride()});
      to += pair_queries_width * pair_depth(op.shape.head_dim);
    }
  }
}

const float* load_keys(const cpu_kernels& kernels, float* keys, const tile_rows& rows) {
  kernels.load_keys(keys, rows);
  return keys;
}
pair_keys load_keys(const cpu_kernels& kernels, bf16* scratch, const tile_rows& rows) {
  return kernels.pairs.load_keys(scratch, rows);
}
void load_values(const cpu_kernels& kernels, float* values, const tile_rows& rows) {
  kernels.load_values(values, rows);
}
void load_values(const cpu_kernels& kernels, bf16* values, const tile_rows& rows) {
  kernels.pairs.load_values(values, rows);
}
void attend(const cpu_kernels& kernels, const tile_queries& queries) {
  kernels.attend(queries);
}
void attend(const cpu_kernels& kernels, const pair_queries& queries) {
  kernels.pairs.attend(queries);
}

/// Brings keys and values of a tile into scratch memory.
template <class T>
attention_form<T>::keys load_tile(const cpu_kernels& kernels, const attention_op& op,
                                  const tile_places& places, const attention_scratch<T>& to,
                                  rows_ahead& ahead) {
  tile_rows rows{.row = places.keys(),
                 .type = op.cache.keys.type,
                 .head_dim = op.shape.head_dim,
                 .stride = op.stride()};
  const auto keys = load_keys(kernels, to.keys, rows);
  rows.row = places.values();
  rows.ahead = &ahead;
  load_values(kernels, to.values, rows);
  return keys;
}

/// Rows of a sequence at `positions`, each with `heads` queries.
struct query_rows {
  std::int64_t sequence = 0;
  row_range positions;
  std::int64_t heads = 0;
};

/// A tile that has been loaded, and the rows of the next: their blocks lie anywhere, so the
/// processor cannot guess them.
template <class T>
struct loaded_tile {
  std::int64_t index = 0;
  attention_form<T>::keys keys{};
  rows_ahead* ahead = nullptr;
};

/// Merges one tile into the queries of each row that sees some of it.
template <class T>
void visit_tile(const cpu_kernels& kernels, const attention_op& op, const loaded_tile<T>& tile,
                const query_rows& rows, const attention_scratch<T>& work) {
  const std::int64_t start = tile.index * key_tile;
  for (std::int64_t row = 0; row < rows.positions.count; ++row) {
    const span_of_keys seen = keys_seen(op, {rows.sequence, rows.positions.begin + row});
    const std::int64_t begin = std::max(seen.begin, start);
    const std::int64_t end = std::min(seen.end, start + key_tile);
    if (begin >= end) continue;
    const std::int64_t first = row * rows.heads;
    const typename attention_form<T>::queries queries{
        .q = work.q + row * attention_form<T>::query_count(op, rows.heads),
        .count = rows.heads,
        .head_dim = op.shape.head_dim,
        .stride = op.stride(),
        .keys = tile.keys,
        .values = work.values,
        .begin = begin - start,
        .end = end - start,
        .scale = op.shape.scale,
        .best = work.best + first,
        .total = work.total + first,
        .output = work.output + first * op.stride(),
        .ahead = tile.ahead};
    attend(kernels, queries);
  }
}

template <class T>
void run_task(cpu_arena& arena, const cpu_kernels& kernels, const attention_op& op,
              const attention_task& task) {
  const attention_scratch<T> work(arena, op, task);
  load_queries(kernels, op, task, work.q);

  const std::int64_t first_position = positions_of(op.layout, task.sequence).begin +
                                      task.rows.begin -
                                      host<const std::int32_t>(op.layout.row_begin)[task.sequence];
  const std::int64_t last_position = first_position + task.rows.count - 1;
  const query_rows rows{.sequence = task.sequence,
                        .positions = {.begin = first_position, .count = task.rows.count},
                        .heads = task.heads.count};
  const span_of_keys needed{.begin = keys_seen(op, {task.sequence, first_position}).begin,
                            .end = keys_seen(op, {task.sequence, last_position}).end};
  const auto places_in = [&](std::int64_t tile) {
    return places_of(op, task,
                     {.begin = std::max(needed.begin, tile * key_tile),
                      .end = std::min(needed.end, (tile + 1) * key_tile)});
  };
  tile_places places = places_in(needed.begin / key_tile);
  for (std::int64_t tile = needed.begin / key_tile; tile * key_tile < needed.end; ++tile) {
    const tile_places next = places_in(tile + 1);
    rows_ahead ahead{.row = next.row, .bytes = key_bytes(op)};
    const auto keys = load_tile(kernels, op, places, work, ahead);
    visit_tile<T>(kernels, op, {.index = tile, .keys = keys, .ahead = &ahead}, rows, work);
    places = next;
  }

  for (std::int64_t query = 0; query < task.queries(); ++query) {
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
  const bool pairs = kernels.pairs.attend != nullptr && op.q.type == dtype::bf16 &&
                     op.cache.keys.type != dtype::f32;
  const auto run = pairs ? run_task<bf16> : run_task<float>;
  arena.for_each(state.tasks.size(),
                 [&](std::size_t task) { run(arena, kernels, op, state.tasks[task]); });
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
