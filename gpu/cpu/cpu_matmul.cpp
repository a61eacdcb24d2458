#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "gpu/cpu/cpu_ops.hpp"
#include "gpu/cpu/group_quantise.hpp"
#include "gpu/cpu/host_view.hpp"
#include "gpu/cpu/packing.hpp"

namespace glimmer {

namespace {

/// Terms after which many rows go on to other panels, so that a block of both stays in the cache.
constexpr std::int64_t terms_per_block = 512;
/// Rows whose begins are so far apart fall into the same sets of a cache.
constexpr std::int64_t page_bytes = 4096;
/// Rows from which on a task has more panels than a kernel takes at once, and how many: then the
/// rows' terms, which no near cache holds, are read once for all of them.
constexpr std::int64_t rows_of_wide_tasks = 64;
constexpr std::int64_t panels_of_wide_tasks = 16;
/// Columns that rows in pairs are padded to.
constexpr std::int64_t columns_of_pairs = 32;
/// Tasks a thread that even out their ends.
constexpr std::int64_t tasks_per_thread = 4;
/// Products (rows * in * out) below which one thread does it all.
constexpr std::int64_t products_alone = 65'536;

/// How many parts of some size a whole takes.
struct cut {
  std::int64_t part;
  std::int64_t of(std::int64_t whole) const { return (whole + part - 1) / part; }
};

/// A pass: some rows times the whole matrix.
struct matmul_pass {
  product_rows x;
  row_range rows;  ///< of out
  tensor out;
  packed_matrix w;
  panel_layout layout;
  std::int64_t group = panels_max;  ///< panels of one task

  std::int64_t groups() const { return cut{group}.of(layout.panels); }
  std::int64_t group_width() const { return group * panel_width; }
};

/// The last step of an f4_pair product: what all weights are multiplied and divided by.
void apply(const scale_rule& rule, std::span<float> sums) {
  for (float& sum : sums) sum = sum * rule.multiplier / rule.divisor;
}

/// Panels of one task, a multiple of what a kernel takes at once.
std::int64_t panels_of_task(const matmul_pass& pass, unsigned threads) {
  if (pass.rows.count < rows_of_wide_tasks) return panels_max;
  const std::int64_t fair = pass.layout.panels / (tasks_per_thread * threads);
  return std::clamp(fair / panels_max * panels_max, panels_max, panels_of_wide_tasks);
}

/// Part of a pass: some of its rows (counted from its first) times one group of panels.
void multiply_group(const cpu_kernels& kernels, const matmul_pass& pass, row_range rows,
                    std::int64_t group, float* sums) {
  const std::int64_t first_panel = group * pass.group;
  const std::int64_t end_panel = std::min(first_panel + pass.group, pass.layout.panels);
  const std::int64_t width = pass.group_width();
  matmul_tile tile{.x = pass.x.data + rows.begin * pass.x.stride,
                   .x_type = pass.x.type,
                   .x_stride = pass.x.stride,
                   .rows = rows.count,
                   .panel_bytes = pass.layout.panel_bytes,
                   .weight_type = pass.w.source,
                   .scales_offset = pass.layout.scales_offset,
                   .sums_stride = width};
  std::fill_n(sums, rows.count * width, 0.0f);
  const std::int64_t terms = rows.count <= kernels.rows_of_streams ? pass.w.in : terms_per_block;
  for (std::int64_t k = 0; k < pass.w.in; k += terms) {
    tile.k_begin = k;
    tile.k_end = std::min(pass.w.in, k + terms);
    for (std::int64_t panel = first_panel; panel < end_panel; panel += panels_max) {
      tile.weights = host<const std::byte>(pass.w.storage) + panel * pass.layout.panel_bytes;
      tile.panels = std::min(panels_max, end_panel - panel);
      tile.sums = sums + (panel - first_panel) * panel_width;
      kernels.matmul(tile);
    }
  }
  const std::int64_t first_out = first_panel * panel_width;
  const std::int64_t outs = std::min(width, pass.w.out - first_out);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::int64_t out_row = pass.rows.begin + rows.begin + row;
    float* const from = sums + row * width;
    if (pass.w.source == dtype::f4_pair)
      apply(pass.w.scale, {from, static_cast<std::size_t>(outs)});
    kernels.convert(elements_at(pass.out, out_row * pass.w.out + first_out),
                    {.data = from, .type = dtype::f32}, outs);
  }
}

void multiply_pass(cpu_arena& arena, const cpu_kernels& kernels, matmul_pass pass) {
  pass.group = panels_of_task(pass, arena.threads());
  // Narrow matrices are cut along the rows as well, to give every thread some.
  const std::int64_t wanted = tasks_per_thread * static_cast<std::int64_t>(arena.threads());
  const std::int64_t cuts =
      std::clamp<std::int64_t>(cut{pass.groups()}.of(wanted), 1, cut{12}.of(pass.rows.count));
  const std::int64_t rows_per_cut = cut{cuts}.of(pass.rows.count);
  const auto body = [&](std::size_t task) {
    const auto piece = static_cast<std::int64_t>(task) % cuts;
    const std::int64_t begin = piece * rows_per_cut;
    const row_range rows{.begin = begin, .count = std::min(rows_per_cut, pass.rows.count - begin)};
    if (rows.count <= 0) return;
    float* const sums = arena.scratch(static_cast<std::size_t>(rows.count * pass.group_width()));
    multiply_group(kernels, pass, rows, static_cast<std::int64_t>(task) / cuts, sums);
  };
  const auto tasks = static_cast<std::size_t>(pass.groups() * cuts);
  if (pass.rows.count * pass.w.in * pass.w.out > products_alone) return arena.for_each(tasks, body);
  for (std::size_t task = 0; task < tasks; ++task) body(task);
}

/// Copies rows into panels [unit, 16]: a unit is a pair along `in` for bf16 and f8, else one
/// element.
template <class Unit>
void pack_lane(std::byte* panel, std::int64_t lane, const std::byte* row, std::size_t row_bytes) {
  const std::size_t units = row_bytes / sizeof(Unit);
  std::byte* to = panel + lane * static_cast<std::int64_t>(sizeof(Unit));
  for (std::size_t unit = 0; unit < units; ++unit)
    std::memcpy(to + unit * panel_width * sizeof(Unit), row + unit * sizeof(Unit), sizeof(Unit));
  if (const std::size_t rest = row_bytes % sizeof(Unit); rest != 0) {
    Unit last{};
    std::memcpy(&last, row + units * sizeof(Unit), rest);
    std::memcpy(to + units * panel_width * sizeof(Unit), &last, sizeof(Unit));
  }
}

/// Eight neighbouring codes in four bytes: there the halves of a byte are neighbours, in a panel
/// the lower halves are, and the upper ones.
std::array<std::byte, 4> turned_codes(const std::byte* pairs) {
  constexpr std::byte low{15};
  return {(pairs[0] & low) | pairs[2] << 4, pairs[0] >> 4 | (pairs[2] & ~low),
          (pairs[1] & low) | pairs[3] << 4, pairs[1] >> 4 | (pairs[3] & ~low)};
}

void pack_row(const packed_matrix& to, std::byte* panel, std::int64_t lane, const std::byte* from) {
  if (to.source == dtype::f4_pair) {
    for (std::int64_t k = 0; k < to.in; k += 8) {
      const auto codes = turned_codes(from + k / 2);
      std::memcpy(panel + f4_codes_at({.lane = lane, .k = k}), codes.data(), codes.size());
    }
    return;
  }
  const std::size_t bytes = static_cast<std::size_t>(to.in) * size_of(to.source);
  if (to.source == dtype::f16 || to.source == dtype::f8_e4m3) {
    pack_lane<std::uint16_t>(panel, lane, from, bytes);
  } else {
    pack_lane<std::uint32_t>(panel, lane, from, bytes);
  }
}

/// Rows of wider weights into an i8 or i4_pair panel from `lane` on. Some columns of all rows at a
/// time: in a panel they share cache lines.
void quantise_rows(const cpu_kernels& kernels, const packed_matrix& to, std::byte* panel,
                   std::int64_t lane, const tensor& rows) {
  static_assert(terms_per_block % i8_block == 0 && terms_per_block % i4_block == 0);
  std::array<float, terms_per_block> wide;
  for (std::int64_t k = 0; k < to.in; k += terms_per_block) {
    const weight_run run{.values = wide.data(), .count = std::min(terms_per_block, to.in - k)};
    for (std::int64_t r = 0; r < rows.shape[0]; ++r) {
      kernels.convert({.data = wide.data(), .type = dtype::f32},
                      const_elements_at(rows, r * to.in + k), run.count);
      if (to.source == dtype::i8) {
        quantise_i8(panel + k / i8_block * i8_block_bytes, lane + r, run);
      } else {
        quantise_i4(panel + k / i4_block * i4_block_bytes, lane + r, run);
      }
    }
  }
}

/// One row of scales [in / 16] into its lane.
void pack_f4_scales(const packed_matrix& to, const panel_layout& layout, std::int64_t row,
                    const std::byte* from) {
  std::byte* const panel = host<std::byte>(to.storage) + (row / panel_width) * layout.panel_bytes;
  for (std::int64_t k = 0; k < to.in; k += f4_block)
    panel[f4_scale_at({.lane = row % panel_width, .k = k})] = from[k / f4_block];
}

/// One row of scales [ceil(in / 128)] into every panel of its 128 rows.
void pack_f8_scales(const packed_matrix& to, const panel_layout& layout, std::int64_t row,
                    const std::byte* from) {
  const std::int64_t end = std::min(row + f8_block, to.out);
  const auto bytes = static_cast<std::size_t>((to.in + f8_block - 1) / f8_block) * sizeof(float);
  for (std::int64_t panel = row / panel_width; panel * panel_width < end; ++panel) {
    std::byte* const to_panel = host<std::byte>(to.storage) + panel * layout.panel_bytes;
    std::memcpy(to_panel + layout.scales_offset, from, bytes);
  }
}

}  // namespace

std::size_t cpu_ops::packed_bytes(matrix_extent extent, dtype source) const {
  return panel_layout(extent, source).bytes();
}

void cpu_ops::pack(stream_handle s, const packed_matrix& to, std::int64_t row, tensor rows) {
  queue(s, [this, to, row, rows](stream_state&) {
    const std::int64_t panel_bytes =
        panel_layout({.out = to.out, .in = to.in}, to.source).panel_bytes;
    // One task a panel: its rows share cache lines.
    const std::int64_t first = row / panel_width;
    const std::int64_t panels = cut{panel_width}.of(row + rows.shape[0]) - first;
    arena_.for_each(static_cast<std::size_t>(panels), [&](std::size_t task) {
      const std::int64_t begin = (first + static_cast<std::int64_t>(task)) * panel_width;
      const std::int64_t end = std::min(begin + panel_width, row + rows.shape[0]);
      const std::int64_t first_row = std::max(begin, row);
      const tensor part = rows.rows({.begin = first_row - row, .count = end - first_row});
      std::byte* const panel = host<std::byte>(to.storage) + begin / panel_width * panel_bytes;
      if (is_grouped(to.source)) return quantise_rows(kernels_, to, panel, first_row - begin, part);
      for (std::int64_t r = 0; r < part.shape[0]; ++r)
        pack_row(to, panel, first_row - begin + r, host_at(part, r * part.shape[1]));
    });
  });
}

void cpu_ops::pack_scales(stream_handle s, const packed_matrix& to, std::int64_t row,
                          tensor scales) {
  queue(s, [to, row, scales](stream_state&) {
    const panel_layout layout({.out = to.out, .in = to.in}, to.source);
    const bool eight = to.source == dtype::f8_e4m3;
    for (std::int64_t r = 0; r < scales.shape[0]; ++r) {
      const std::byte* const from = host_at(scales, r * scales.shape[1]);
      if (eight) {
        pack_f8_scales(to, layout, row + r * f8_block, from);
      } else {
        pack_f4_scales(to, layout, row + r, from);
      }
    }
  });
}

void cpu_ops::matmul(stream_handle s, tensor out, tensor x, const packed_matrix& w) {
  queue(s, [this, out, x, w](stream_state& state) { multiply(state, out, x, w); });
}

product_rows cpu_ops::prepared(stream_state& state, const tensor& x, const packed_matrix& w) {
  const row_groups groups{.width = w.in, .columns = code_columns(w.source)};
  const bool quantises = groups.columns != 0;
  const bool short_weights = w.source == dtype::bf16 || w.source == dtype::f8_e4m3;
  const bool pairs = kernels_.multiplies_pairs && x.type == dtype::bf16 && short_weights;
  const dtype type = pairs ? dtype::bf16 : dtype::f32;
  const std::int64_t columns = pairs ? cut{columns_of_pairs}.of(w.in) * columns_of_pairs : w.in;
  const std::int64_t width = columns * static_cast<std::int64_t>(size_of(type));
  const bool spread = width % page_bytes != 0 || x.shape[0] == 1;
  if (!quantises && x.type == type && columns == w.in && spread)
    return {.data = host<const std::byte>(x), .stride = width, .type = type};
  const std::int64_t stride =
      quantises ? cut{groups.columns}.of(w.in) * (code_group_bytes + groups.columns)
                : width + 64;  // keeps the rows of a tile out of one another's cache sets
  auto& memory = state.rows;
  if (const auto bytes = static_cast<std::size_t>(x.shape[0] * stride); memory.size() < bytes)
    memory.resize(bytes);
  for_rows(x, [&](std::int64_t r) {
    const auto from = const_elements_at(x, r * w.in);
    std::byte* const to = memory.data() + r * stride;
    if (quantises) {
      kernels_.quantise(to, from, groups);
    } else {
      std::memset(to + w.in * static_cast<std::int64_t>(size_of(type)), 0,
                  static_cast<std::size_t>(columns - w.in) * size_of(type));
      kernels_.convert({.data = to, .type = type}, from, w.in);
    }
  });
  return {.data = memory.data(), .stride = stride, .type = type};
}

void cpu_ops::multiply(stream_state& state, const tensor& out, const tensor& x,
                       const packed_matrix& w) {
  const panel_layout layout({.out = w.out, .in = w.in}, w.source);
  for (std::int64_t row = 0; row < x.shape[0]; row += kernels_.rows_per_pass) {
    const row_range rows{.begin = row, .count = std::min(kernels_.rows_per_pass, x.shape[0] - row)};
    multiply_pass(arena_, kernels_,
                  {.x = prepared(state, x.rows(rows), w),
                   .rows = rows,
                   .out = out,
                   .w = w,
                   .layout = layout});
  }
}

}  // namespace glimmer
