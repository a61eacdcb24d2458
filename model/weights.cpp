#include "model/weights.hpp"

#include <algorithm>
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

std::size_t row_bytes(const stored_tensor& t) {
  return t.data.size() / static_cast<std::size_t>(t.shape[0]);
}

/// Rows of a matrix that travel at once; at least one.
std::int64_t staged_rows(const stored_tensor& t) {
  const auto fit = staging_bytes_max / std::max<std::size_t>(row_bytes(t), 1);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(fit), 1, t.shape[0]);
}

/// Device bytes of one text tensor: norms become f32, the table stays as it is, matrices are
/// packed.
std::size_t resident_bytes(const ops& op, const stored_tensor& t) {
  if (t.shape.size() == 1) return aligned(static_cast<std::size_t>(t.count()) * sizeof(float));
  if (t.name == embedding_name) return aligned(t.data.size());
  return aligned(op.packed_bytes({t.shape[0], t.shape[1]}, type_of(t)));
}

struct memory_plan {
  std::size_t resident = 0;
  std::size_t staging = 0;
};

memory_plan plan_memory(device& home, const checkpoint& source) {
  memory_plan plan;
  for (const auto& e : expected_tensors(source.config)) {
    if (e.of != expected_tensor::part::text) continue;
    const auto* t = source.files.find(e.name);
    GLIMMER_ASSERT(t != nullptr, "open_checkpoint found every tensor");
    plan.resident += resident_bytes(home.operations(), *t);
    if (t->shape.size() == 2) {
      plan.staging =
          std::max(plan.staging, static_cast<std::size_t>(staged_rows(*t)) * row_bytes(*t));
    }
  }
  return plan;
}

/// Fills one device buffer from front to back, tensor after tensor.
class weight_loader {
 public:
  weight_loader(device& home, const checkpoint& source, const device_buffer& resident,
                const device_buffer& staging)
      : home_{home},
        files_{source.files},
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
    const auto& t = stored(name);
    const auto bytes = home_.operations().packed_bytes({t.shape[0], t.shape[1]}, type_of(t));
    const packed_matrix to{.storage = take(dtype::u8, {static_cast<std::int64_t>(bytes)}, bytes),
                           .out = t.shape[0],
                           .in = t.shape[1],
                           .source = type_of(t)};
    by_rows(t, [&](row_range rows, std::span<const std::byte> part) {
      const auto staged = staging_.view(to.source, {rows.count, to.in});
      home_.upload(stream_, staged, part);
      home_.operations().pack(stream_, to, rows.begin, staged);
    });
    return to;
  }

  void finish() { home_.wait(home_.record(stream_)); }

 private:
  const stored_tensor& stored(const std::string& name) const {
    const auto* t = files_.find(name);
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
  const tensor_files& files_;
  const device_buffer& resident_;
  const device_buffer& staging_;
  stream_handle stream_;
  std::size_t used_ = 0;
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

std::size_t weight_bytes(device& home, const checkpoint& source) {
  const auto plan = plan_memory(home, source);
  return plan.resident + plan.staging;
}

result<decoder_weights> load_weights(device& home, const checkpoint& source) {
  const auto plan = plan_memory(home, source);
  auto resident = home.allocate(plan.resident);
  if (!resident) return fail(resident.error());
  const auto staging = home.allocate(plan.staging);
  if (!staging) return fail(staging.error());
  weight_loader load{home, source, *resident, *staging};
  decoder_weights weights;
  weights.embedding = load.table(std::string{embedding_name});
  for (std::int64_t i = 0; i < source.config.text.layers; ++i) {
    weights.layers.push_back(load_layer(load, i));
  }
  weights.final_norm = load.norm("model.language_model.norm.weight");
  weights.head = load.matrix("lm_head.weight");
  load.finish();
  weights.buffers.push_back(std::move(*resident));
  return weights;
}

}  // namespace glimmer
