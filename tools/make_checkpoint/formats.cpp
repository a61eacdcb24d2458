#include "tools/make_checkpoint/formats.hpp"

#include <algorithm>

namespace glimmer {
namespace {

using part = written_tensor::part;
using format = checkpoint_recipe::weight_format;

/// "self_attn.q_proj" of "model.language_model.layers.3.self_attn.q_proj", and 3.
struct layer_module {
  std::int64_t layer = -1;
  std::string_view name;
};

layer_module split(std::string_view module) {
  const auto at = module.find("layers.");
  if (at == std::string_view::npos) return {-1, module};
  const auto number = module.substr(at + 7);
  const auto dot = number.find('.');
  return {std::stoll(std::string{number.substr(0, dot)}), number.substr(dot + 1)};
}

/// FP8 with one scale, NVFP4 and plain side by side, in one layer and from layer to layer.
declared_weight mixed_format(const layer_module& m) {
  constexpr declared_weight fp8{weight_scheme::fp8_tensor, true};
  constexpr declared_weight nvfp4{weight_scheme::nvfp4, false};
  const auto choose = [&](bool eight) { return eight ? fp8 : nvfp4; };
  if (m.layer < 0) return nvfp4;
  if (m.name == "self_attn.o_proj") return choose(m.layer < 6);
  if (m.name == "mlp.down_proj") return choose(m.layer >= 1 && m.layer <= 3);
  if (m.name.starts_with("mlp.")) return choose(m.layer == 5);
  return m.layer % 3 == 2 ? declared_weight{} : choose(m.layer % 3 == 0);
}

void write_list(json_writer& w, std::string_view key,
                std::initializer_list<std::string_view> names) {
  w.key(key).begin_array();
  for (const auto name : names) w.string(name);
  w.end_array();
}

void write_fp8_group(json_writer& w) {
  w.key("format").string("float-quantized");
  w.key("config_groups").begin_object().key("FP8_BLOCK").begin_object();
  write_list(w, "targets", {"Linear"});
  w.key("weights").begin_object().key("num_bits").integer(8).key("type").string("float");
  w.key("strategy").string("block").key("block_structure").begin_array();
  w.integer(128).integer(128).end_array();
  w.key("symmetric").boolean(true).key("dynamic").boolean(false).end_object();
  w.key("input_activations").begin_object().key("num_bits").integer(8);
  w.key("type").string("float").key("strategy").string("group").key("group_size").integer(128);
  w.key("dynamic").boolean(true).end_object();
  w.key("output_activations").null().end_object().end_object();
}

void write_packed_group(json_writer& w) {
  w.key("format").string("nvfp4-pack-quantized");
  w.key("config_groups").begin_object().key("group_0").begin_object();
  write_list(w, "targets", {"Linear"});
  for (const auto* side : {"weights", "input_activations"}) {
    w.key(side).begin_object().key("num_bits").integer(4).key("type").string("float");
    w.key("strategy").string("tensor_group").key("group_size").integer(16).key("dynamic");
    if (std::string_view{side} == "weights") {
      w.boolean(false);
    } else {
      w.string("local");
    }
    w.end_object();
  }
  w.end_object().end_object();
}

std::string module_of(const expected_tensor& t) {
  return t.name.substr(0, t.name.rfind('.'));
}

bool is_linear(const expected_tensor& t) {
  return t.of == expected_tensor::part::text && t.shape.size() == 2 &&
         !t.name.ends_with("embed_tokens.weight");
}

void write_layer_map(json_writer& w, const checkpoint_recipe& recipe) {
  w.key("quant_algo").string("MIXED_PRECISION").key("quantized_layers").begin_object();
  for (const auto& t : expected_tensors(recipe.config)) {
    const auto weight = is_linear(t) ? format_of(recipe, module_of(t)) : declared_weight{};
    if (weight.scheme == weight_scheme::plain) continue;
    const bool eight = weight.scheme == weight_scheme::fp8_tensor;
    w.key(module_of(t)).begin_object();
    w.key("quant_algo").string(eight ? "FP8" : "W4A16_NVFP4");
    if (!eight) w.key("group_size").integer(16);
    w.end_object();
  }
  w.end_object();
}

/// The parts of one quantised module.
std::vector<written_tensor> parts_of(const expected_tensor& t, const declared_weight& weight) {
  const auto module = module_of(t);
  const auto scheme = weight.scheme;
  const auto out = t.shape[0];
  const auto in = t.shape[1];
  const bool packed = scheme == weight_scheme::nvfp4_packed;
  const bool four = packed || scheme == weight_scheme::nvfp4;
  std::vector<written_tensor> parts;
  const auto add = [&](std::string_view ending, const char* type, std::vector<std::int64_t> shape,
                       part what) {
    parts.push_back({module + std::string{ending}, type, std::move(shape), t, what, scheme});
  };
  if (four) {
    add(packed ? ".weight_packed" : ".weight", "U8", {out, in / 2}, part::values);
    add(".weight_scale", "F8_E4M3", {out, in / 16}, part::scales);
    add(packed ? ".weight_global_scale" : ".weight_scale_2", "F32",
        packed ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{}, part::factor);
  } else {
    add(".weight", "F8_E4M3", {out, in}, part::values);
    if (scheme == weight_scheme::fp8_block) {
      add(".weight_scale", "BF16", {(out + 127) / 128, (in + 127) / 128}, part::scales);
    } else {
      add(".weight_scale", "F32", {}, part::scales);
    }
  }
  if (weight.input_scale) {
    add(packed ? ".input_global_scale" : ".input_scale", "F32",
        packed ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{}, part::input_scale);
  }
  return parts;
}

}  // namespace

declared_weight format_of(const checkpoint_recipe& recipe, std::string_view module) {
  const auto m = split(module);
  switch (recipe.format) {
    case format::plain: return {};
    case format::fp8:
      if (m.layer < 0 || m.layer == 5 || (m.layer == 2 && m.name == "self_attn.k_proj")) return {};
      return {weight_scheme::fp8_block, false};
    case format::nvfp4:
      if (m.layer < 0 || m.layer == 5 || m.name == "self_attn.gate_proj") return {};
      return {weight_scheme::nvfp4, true};
    case format::mixed: return mixed_format(m);
    case format::packed_nvfp4:
      if (m.layer < 0 || (m.layer == 2 && m.name == "self_attn.k_proj")) return {};
      return {weight_scheme::nvfp4_packed, true};
  }
  return {};
}

void write_quantization_config(json_writer& w, const checkpoint_recipe& recipe) {
  if (recipe.format == format::plain) return;
  const bool modelopt = recipe.format == format::nvfp4 || recipe.format == format::mixed;
  w.key("quantization_config").begin_object();
  w.key("quant_method").string(modelopt ? "modelopt" : "compressed-tensors");
  w.key("kv_cache_scheme").null();
  switch (recipe.format) {
    case format::plain: break;
    case format::fp8:
      write_fp8_group(w);
      write_list(w, "ignore",
                 {"re:.*vision.*", "lm_head", "re:.*embed_tokens.*", R"(re:.*layers\.5\..*)",
                  "model.language_model.layers.2.self_attn.k_proj"});
      break;
    case format::nvfp4:
      w.key("quant_algo").string("NVFP4").key("group_size").integer(16);
      write_list(
          w, "ignore",
          {"lm_head", "model.vision*", "*.self_attn.gate_proj", "model.language_model.layers.5"});
      break;
    case format::mixed:
      write_layer_map(w, recipe);
      write_list(w, "ignore", {});
      break;
    case format::packed_nvfp4:
      write_packed_group(w);
      write_list(w, "ignore",
                 {"re:.*vision.*", "lm_head", "model.language_model.layers.2.self_attn.k_proj"});
      break;
  }
  w.end_object();
}

std::uint64_t written_tensor::count() const {
  std::uint64_t n = 1;
  for (const auto extent : shape) n *= static_cast<std::uint64_t>(extent);
  return n;
}

std::uint64_t written_tensor::bytes() const {
  return count() * (type == "F32" ? 4 : type == "BF16" ? 2 : 1);
}

std::vector<written_tensor> written_tensors(const checkpoint_recipe& recipe) {
  std::vector<written_tensor> out;
  std::vector<written_tensor> behind;
  for (const auto& t : expected_tensors(recipe.config)) {
    const auto weight = is_linear(t) ? format_of(recipe, module_of(t)) : declared_weight{};
    if (weight.scheme == weight_scheme::plain) {
      out.push_back({t.name, "BF16", t.shape, t});
      continue;
    }
    for (auto& p : parts_of(t, weight)) {
      (p.what == part::values ? out : behind).push_back(std::move(p));
    }
  }
  std::ranges::move(behind, std::back_inserter(out));
  return out;
}

}  // namespace glimmer
