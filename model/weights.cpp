#include "model/weights.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "model/element.hpp"

namespace glimmer {
namespace {

constexpr std::size_t alignment = 64;
/// Rows travel to the device in pieces of about this size.
constexpr std::size_t staging_bytes_max = std::size_t{64} << 20;

constexpr std::string_view embedding_name = "model.language_model.embed_tokens.weight";

dtype type_of(const stored_tensor& t) {
  const auto type = plain_type(t);
  GLIMMER_ASSERT(type.has_value(), "open_checkpoint lets only plain weights pass");
  return *type;
}

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// A matrix by the name of its plain tensor.
const stored_matrix& matrix_of(const checkpoint& source, const std::string& name) {
  const auto at = source.matrices.find(name.substr(0, name.rfind('.')));
  GLIMMER_ASSERT(at != source.matrices.end(), "open_checkpoint found every matrix");
  return at->second;
}

bool is_matrix(const expected_tensor& e) {
  return e.shape.size() == 2 && e.name != embedding_name;
}

std::size_t row_bytes(const stored_tensor& t) {
  return t.data.size() / static_cast<std::size_t>(t.shape[0]);
}

/// Rows of a matrix that travel at once; at least one.
std::int64_t staged_rows(const stored_tensor& t) {
  const auto fit = staging_bytes_max / std::max<std::size_t>(row_bytes(t), 1);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(fit), 1, t.shape[0]);
}

std::size_t staged_bytes(const stored_tensor& t) {
  return static_cast<std::size_t>(staged_rows(t)) * row_bytes(t);
}

/// FP8 scales travel as f32 in one piece: they are few.
std::size_t staged_bytes(const stored_matrix& m) {
  const auto values = staged_bytes(*m.values);
  if (m.source() == dtype::f8_e4m3) {
    return std::max(values, block_scales(m).size() * sizeof(float));
  }
  return m.source() == dtype::f4_pair ? std::max(values, staged_bytes(*m.scales)) : values;
}

struct memory_plan {
  std::size_t resident = 0;
  std::size_t staging = 0;
};

memory_plan plan_memory(device& home, const checkpoint& source, load_quantization quantization) {
  memory_plan plan;
  for (const auto& e : expected_tensors(source.config)) {
    if (e.of != expected_tensor::part::text) continue;
    if (is_matrix(e)) {
      const auto& m = matrix_of(source, e.name);
      plan.resident +=
          aligned(home.operations().packed_bytes(m.extent, packed_type(m, quantization)));
      plan.staging = std::max(plan.staging, staged_bytes(m));
    } else if (e.name == embedding_name) {
      const auto* t = source.files.find(e.name);
      GLIMMER_ASSERT(t != nullptr, "open_checkpoint found every tensor");
      plan.resident += aligned(t->data.size());
      plan.staging = std::max(plan.staging, staged_bytes(*t));
    } else {
      plan.resident += aligned(static_cast<std::size_t>(e.shape[0]) * sizeof(float));
    }
  }
  return plan;
}

/// Fills one device buffer from front to back, tensor after tensor.
class weight_loader {
 public:
  weight_loader(device& home, const checkpoint& source, const device_buffer& resident,
                const device_buffer& staging, load_quantization quantization)
      : home_{home},
        source_{source},
        quantization_{quantization},
        resident_{resident},
        staging_{staging},
        stream_{home.make_stream()} {}

  tensor norm(const std::string& name) {
    const auto& t = stored(name);
    std::vector<float> values(t.count());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(t, i);
    const auto to = take(dtype::f32, {t.shape[0]}, values.size() * sizeof(float));
    home_.upload(stream_, to, std::as_bytes(std::span{values}));
    return to;
  }

  tensor table(const std::string& name) {
    const auto& t = stored(name);
    const auto to = take(type_of(t), {t.shape[0], t.shape[1]}, t.data.size());
    by_rows(t, [&](row_range rows, std::span<const std::byte> bytes) {
      home_.upload(stream_, to.rows(rows), bytes);
    });
    return to;
  }

  packed_matrix matrix(const std::string& name) {
    const auto& m = matrix_of(source_, name);
    if (auto right = check_values(source_.files, m); !right && !refusal_) refusal_ = right.error();
    const auto type = packed_type(m, quantization_);
    const auto bytes = home_.operations().packed_bytes(m.extent, type);
    const packed_matrix to{.storage = take(dtype::u8, {static_cast<std::int64_t>(bytes)}, bytes),
                           .out = m.extent.out,
                           .in = m.extent.in,
                           .source = type,
                           .scale = m.rule()};
    by_rows(*m.values, [&](row_range rows, std::span<const std::byte> part) {
      const auto staged = staging_.view(m.source(), {rows.count, m.values->shape[1]});
      home_.upload(stream_, staged, part);
      home_.operations().pack(stream_, to, rows.begin, staged);
    });
    if (to.source == dtype::f8_e4m3) pack_block_scales(to, m);
    if (to.source == dtype::f4_pair) pack_row_scales(to, *m.scales);
    return to;
  }

  /// The first matrix whose values were not right, if one was loaded.
  const std::optional<error>& refusal() const { return refusal_; }

  void finish() { home_.wait(home_.record(stream_)); }

 private:
  void pack_block_scales(const packed_matrix& to, const stored_matrix& m) {
    const auto scales = block_scales(m);
    const auto across = (to.in + f8_block - 1) / f8_block;
    const auto down = static_cast<std::int64_t>(scales.size()) / across;
    const auto staged = staging_.view(dtype::f32, {down, across});
    home_.upload(stream_, staged, std::as_bytes(std::span{scales}));
    home_.operations().pack_scales(stream_, to, 0, staged);
    finish();
  }

  void pack_row_scales(const packed_matrix& to, const stored_tensor& scales) {
    by_rows(scales, [&](row_range rows, std::span<const std::byte> part) {
      const auto staged = staging_.view(dtype::f8_e4m3, {rows.count, scales.shape[1]});
      home_.upload(stream_, staged, part);
      home_.operations().pack_scales(stream_, to, rows.begin, staged);
    });
  }

  const stored_tensor& stored(const std::string& name) const {
    const auto* t = source_.files.find(name);
    GLIMMER_ASSERT(t != nullptr, "open_checkpoint found every tensor");
    return *t;
  }

  tensor take(dtype type, tensor_shape shape, std::size_t bytes) {
    const auto at = used_;
    used_ += aligned(bytes);
    GLIMMER_ASSERT(used_ <= resident_.bytes(), "the memory plan counted every tensor");
    return resident_.view(type, shape, at);
  }

  /// Queues `send` for piece after piece and waits in between, so that host memory stays bounded.
  template <class Send>
  void by_rows(const stored_tensor& t, const Send& send) {
    const auto step = staged_rows(t);
    for (std::int64_t row = 0; row < t.shape[0]; row += step) {
      const row_range rows{row, std::min(step, t.shape[0] - row)};
      const auto width = row_bytes(t);
      send(rows, t.data.subspan(static_cast<std::size_t>(rows.begin) * width,
                                static_cast<std::size_t>(rows.count) * width));
      finish();
    }
  }

  device& home_;
  const checkpoint& source_;
  load_quantization quantization_;
  const device_buffer& resident_;
  const device_buffer& staging_;
  stream_handle stream_;
  std::size_t used_ = 0;
  std::optional<error> refusal_;
};

layer_weights load_layer(weight_loader& load, std::int64_t layer) {
  const auto prefix = "model.language_model.layers." + std::to_string(layer) + ".";
  const auto norm = [&](const char* name) { return load.norm(prefix + name + ".weight"); };
  const auto matrix = [&](const char* name) { return load.matrix(prefix + name + ".weight"); };
  return {
      .input_norm = norm("input_layernorm"),
      .post_attention_norm = norm("post_attention_layernorm"),
      .pre_feedforward_norm = norm("pre_feedforward_layernorm"),
      .post_feedforward_norm = norm("post_feedforward_layernorm"),
      .q_proj = matrix("self_attn.q_proj"),
      .k_proj = matrix("self_attn.k_proj"),
      .v_proj = matrix("self_attn.v_proj"),
      .attention_gate = matrix("self_attn.gate_proj"),
      .o_proj = matrix("self_attn.o_proj"),
      .mlp_gate = matrix("mlp.gate_proj"),
      .mlp_up = matrix("mlp.up_proj"),
      .mlp_down = matrix("mlp.down_proj"),
  };
}

}  // namespace

dtype packed_type(const stored_matrix& m, load_quantization quantization) {
  if (m.scheme != weight_scheme::plain || quantization == load_quantization::none)
    return m.source();
  const bool eight = quantization == load_quantization::int8 || m.module == "lm_head";
  return eight ? dtype::i8 : dtype::i4_pair;
}

std::size_t weight_bytes(device& home, const checkpoint& source, load_quantization quantization) {
  const auto plan = plan_memory(home, source, quantization);
  return plan.resident + plan.staging;
}

result<decoder_weights> load_weights(device& home, const checkpoint& source,
                                     load_quantization quantization) {
  const auto plan = plan_memory(home, source, quantization);
  auto resident = home.allocate(plan.resident);
  if (!resident) return fail(resident.error());
  const auto staging = home.allocate(plan.staging);
  if (!staging) return fail(staging.error());
  weight_loader load{home, source, *resident, *staging, quantization};
  decoder_weights weights;
  weights.embedding = load.table(std::string{embedding_name});
  for (std::int64_t i = 0; i < source.config.text.layers; ++i) {
    weights.layers.push_back(load_layer(load, i));
    if (load.refusal()) return fail(*load.refusal());
  }
  weights.final_norm = load.norm("model.language_model.norm.weight");
  weights.head = load.matrix("lm_head.weight");
  load.finish();
  if (load.refusal()) return fail(*load.refusal());
  weights.buffers.push_back(std::move(*resident));
  return weights;
}

}  // namespace glimmer
