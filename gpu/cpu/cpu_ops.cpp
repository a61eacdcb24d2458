#include "gpu/cpu/cpu_ops.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "gpu/cpu/host_view.hpp"

namespace glimmer {

// ---- rotation table -----------------------------------------------------------------------------

void rope_table::prepare(cpu_arena& arena, const tensor& positions, const head_rules& rules) {
  const std::span now(host<const std::int32_t>(positions),
                      static_cast<std::size_t>(positions.count()));
  const auto half = static_cast<std::size_t>(rules.head_dim / 2);
  if (half == half_ && rules.rope_theta == theta_ && std::ranges::equal(now, positions_)) return;
  positions_.assign(now.begin(), now.end());
  half_ = half;
  theta_ = rules.rope_theta;
  cosines_.resize(now.size() * half);
  sines_.resize(now.size() * half);

  std::vector<float> inverse_frequency(half);
  for (std::size_t j = 0; j < half; ++j) {
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(rules.head_dim);
    const auto power =
        static_cast<float>(std::pow(static_cast<double>(theta_), static_cast<double>(exponent)));
    inverse_frequency[j] = 1.0f / power;
  }
  arena.for_each(now.size(), [&](std::size_t token) {
    for (std::size_t j = 0; j < half; ++j) {
      // The angle is rounded to f32, as in every implementation of the model; its cosine is not.
      const double angle = static_cast<float>(positions_[token]) * inverse_frequency[j];
      cosines_[token * half + j] = static_cast<float>(std::cos(angle));
      sines_[token * half + j] = static_cast<float>(std::sin(angle));
    }
  });
}

// ---- rows ---------------------------------------------------------------------------------------

void cpu_ops::gather_rows(stream_handle s, tensor out, tensor table, tensor ids) {
  queue(s, [this, out, table, ids](stream_state&) {
    const std::int64_t width = out.shape[1];
    for_rows(out, [&](std::int64_t row) {
      const std::int64_t id = host<const std::int32_t>(ids)[row];
      GLIMMER_ASSERT(id >= 0 && id < table.shape[0], "an id lies inside the table");
      kernels_.convert(elements_at(out, row * width), const_elements_at(table, id * width), width);
    });
  });
}

void cpu_ops::store_columns(stream_handle s, tensor out, std::int64_t column, tensor x) {
  queue(s, [this, out, column, x](stream_state&) {
    const std::int64_t width = x.shape[1];
    for_rows(x, [&](std::int64_t row) {
      kernels_.convert(elements_at(out, row * out.shape[1] + column),
                       const_elements_at(x, row * width), width);
    });
  });
}

void cpu_ops::rms_norm(stream_handle s, tensor out, tensor x, tensor weight, norm_kind kind,
                       float eps) {
  const norm_row rule{
      .width = x.shape[1], .weight = host<const float>(weight), .kind = kind, .eps = eps};
  queue(s, [this, out, x, rule](stream_state&) {
    for_rows(x, [&](std::int64_t row) {
      kernels_.norm(elements_at(out, row * rule.width), const_elements_at(x, row * rule.width),
                    rule);
    });
  });
}

void cpu_ops::add(stream_handle s, tensor h, tensor u) {
  queue(s, [this, h, u](stream_state&) {
    for_elements(h, [&](row_range part) {
      kernels_.add(elements_at(h, part.begin), const_elements_at(u, part.begin), part.count);
    });
  });
}

void cpu_ops::sigmoid_gate(stream_handle s, tensor o, tensor g) {
  queue(s, [this, o, g](stream_state&) {
    for_elements(o, [&](row_range part) {
      kernels_.sigmoid_gate(elements_at(o, part.begin), const_elements_at(g, part.begin),
                            part.count);
    });
  });
}

void cpu_ops::silu_product(stream_handle s, tensor gate, tensor up) {
  queue(s, [this, gate, up](stream_state&) {
    for_elements(gate, [&](row_range part) {
      kernels_.silu_product(elements_at(gate, part.begin), const_elements_at(up, part.begin),
                            part.count);
    });
  });
}

void cpu_ops::cap_logits(stream_handle s, tensor z, logit_cap rule) {
  queue(s, [this, z, rule](stream_state&) {
    for_elements(
        z, [&](row_range part) { kernels_.cap(host<float>(z) + part.begin, part.count, rule); });
  });
}

// ---- heads and cache ----------------------------------------------------------------------------

void cpu_ops::finish_heads(stream_handle s, tensor x, tensor positions, const head_rules& rules) {
  queue(s, [this, x, positions, rules](stream_state& state) {
    if (rules.rotate) state.rope.prepare(arena_, positions, rules);
    for_rows(x, [&](std::int64_t row) {
      head_row head{.head_dim = rules.head_dim,
                    .eps = rules.eps,
                    .scale = rules.scale,
                    .weight = host<const float>(rules.weight)};
      if (rules.rotate) {
        head.cosines = state.rope.cosines(static_cast<std::size_t>(row));
        head.sines = state.rope.sines(static_cast<std::size_t>(row));
      }
      const std::int64_t width = x.shape[1];
      for (std::int64_t at = 0; at < width; at += rules.head_dim)
        kernels_.finish_head(elements_at(x, row * width + at), head);
    });
  });
}

void cpu_ops::store_kv(stream_handle s, const kv_cache& cache, tensor k, tensor v, tensor slots) {
  queue(s, [this, cache, k, v, slots](stream_state&) {
    const auto [blocks, heads, block_size, head_dim] = cache.keys.shape.extent;
    for_rows(k, [&](std::int64_t row) {
      const std::int64_t slot = host<const std::int32_t>(slots)[row];
      GLIMMER_ASSERT(slot >= 0 && slot < blocks * block_size, "a slot lies inside the cache");
      for (std::int64_t head = 0; head < heads; ++head) {
        const std::int64_t from = (row * heads + head) * head_dim;
        const std::int64_t to =
            ((slot / block_size * heads + head) * block_size + slot % block_size) * head_dim;
        kernels_.convert(elements_at(cache.keys, to), const_elements_at(k, from), head_dim);
        kernels_.convert(elements_at(cache.values, to), const_elements_at(v, from), head_dim);
      }
    });
  });
}

void cpu_ops::copy_block(stream_handle s, const kv_cache& cache, block_copy blocks) {
  if (blocks.from == blocks.to) return;
  queue(s, [cache, blocks](stream_state&) {
    const std::int64_t size = cache.keys.count() / cache.keys.shape[0];
    const std::size_t bytes = static_cast<std::size_t>(size) * size_of(cache.keys.type);
    for (const tensor& part : {cache.keys, cache.values})
      std::memcpy(host_at(part, blocks.to * size), host_at(part, blocks.from * size), bytes);
  });
}

}  // namespace glimmer
