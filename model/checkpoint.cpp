#include "model/checkpoint.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <unordered_set>

#include "model/element.hpp"
#include "model/plain_tensor.hpp"

namespace glimmer {
namespace {

using part = expected_tensor::part;

void add_text_layer(std::vector<expected_tensor>& out, const text_config& t, std::int64_t layer) {
  const auto prefix = "model.language_model.layers." + std::to_string(layer) + ".";
  const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
    out.push_back({prefix + name + ".weight", std::move(shape), part::text});
  };
  const auto hidden = t.hidden_size;
  add("input_layernorm", {hidden});
  add("post_attention_layernorm", {hidden});
  add("pre_feedforward_layernorm", {hidden});
  add("post_feedforward_layernorm", {hidden});
  add("self_attn.q_proj", {t.query_width(), hidden});
  add("self_attn.k_proj", {t.kv_width(), hidden});
  add("self_attn.v_proj", {t.kv_width(), hidden});
  add("self_attn.gate_proj", {t.query_width(), hidden});
  add("self_attn.o_proj", {hidden, t.query_width()});
  add("mlp.gate_proj", {t.intermediate_size, hidden});
  add("mlp.up_proj", {t.intermediate_size, hidden});
  add("mlp.down_proj", {hidden, t.intermediate_size});
}

void add_vision_layer(std::vector<expected_tensor>& out, const vision_config& v,
                      std::int64_t layer) {
  const auto prefix = "model.vision_tower.layers." + std::to_string(layer) + ".";
  const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
    out.push_back({prefix + name + ".weight", shape, part::vision});
    out.push_back({prefix + name + ".bias", {shape.front()}, part::vision});
  };
  const auto hidden = v.hidden_size;
  add("norm1", {hidden});
  add("norm2", {hidden});
  for (const auto name : {"attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.proj"}) {
    add(name, {hidden, hidden});
  }
  add("mlp.fc1", {v.intermediate_size, hidden});
  add("mlp.fc2", {hidden, v.intermediate_size});
}

void add_vision(std::vector<expected_tensor>& out, const vision_config& v, std::int64_t hidden) {
  const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
    out.push_back({std::string{"model."} + name, std::move(shape), part::vision});
  };
  const auto patch = 3 * v.patch_temporal * v.patch_size * v.patch_size;
  add("vision_tower.patch_embedder.patch_embedding.weight", {v.hidden_size, patch});
  add("vision_tower.patch_embedder.position_embedding_table.weight",
      {v.position_rows * v.position_columns, v.hidden_size});
  add("vision_tower.ln_pre.weight", {v.hidden_size});
  add("vision_tower.ln_pre.bias", {v.hidden_size});
  add("vision_tower.ln_post.weight", {v.hidden_size});
  add("vision_tower.ln_post.bias", {v.hidden_size});
  for (std::int64_t i = 0; i < v.layers; ++i) add_vision_layer(out, v, i);
  add("vision_adapter.fc1.weight", {v.projector_width, v.merged_width});
  add("vision_adapter.fc2.weight", {v.projector_width, v.projector_width});
  add("vision_projection.weight", {hidden, v.projector_width});
}

/// A linear layer of the decoder: what quantised checkpoints quantise.
bool is_text_matrix(const expected_tensor& e) {
  return e.of == part::text && e.shape.size() == 2 && !e.name.ends_with("embed_tokens.weight");
}

std::string module_of(const expected_tensor& e) {
  return e.name.substr(0, e.name.rfind('.'));
}

std::uint64_t count_of(const expected_tensor& e) {
  std::uint64_t count = 1;
  for (const auto extent : e.shape) count *= static_cast<std::uint64_t>(extent);
  return count;
}

/// Finds every expected tensor, or what stands for it in a quantised format, and counts.
result<void> find_tensors(checkpoint& c, const std::vector<expected_tensor>& expected) {
  for (const auto& e : expected) {
    (e.of == part::text ? c.text_parameters : c.vision_parameters) += count_of(e);
    if (!is_text_matrix(e)) {
      if (auto found = find_plain(c.files, {e.name, e.shape}); !found) return fail(found.error());
      continue;
    }
    const auto module = module_of(e);
    auto found = find_matrix(c.files, c.config.quantization, {module, {e.shape[0], e.shape[1]}});
    if (!found) return fail(found.error());
    c.matrices.emplace(module, std::move(*found));
  }
  return {};
}

result<void> refuse_leftovers(const checkpoint& c, const std::vector<expected_tensor>& expected) {
  std::unordered_set<std::string_view> known;
  for (const auto& e : expected) {
    if (!is_text_matrix(e)) known.insert(e.name);
  }
  for (const auto& [module, matrix] : c.matrices) {
    for (const auto* t : matrix.tensors()) known.insert(t->name);
  }
  for (const auto& t : c.files.tensors()) {
    if (known.contains(t.name)) continue;
    return fail(
        checkpoint_error(c.files.file_of(t), "Tensor " + t.name + " " + shape_text(t.shape) +
                                                 " is not part of a model of this configuration."));
  }
  return {};
}

/// "Matrices: 57 FP8 in blocks, 8 plain; activations are not quantised."; nothing when all are
/// plain. Products of NVFP4 round their activations to codes of 8 bits (gpu/ops.hpp).
void note_formats(checkpoint& c) {
  std::map<weight_scheme, int> counts;
  for (const auto& [module, matrix] : c.matrices) ++counts[matrix.scheme];
  if (counts.size() == 1 && counts.contains(weight_scheme::plain)) return;
  std::string text;
  for (const auto& [scheme, count] : counts) {
    text += (text.empty() ? "Matrices: " : ", ") + std::to_string(count) + " " +
            std::string{to_string(scheme)};
  }
  const bool fours =
      counts.contains(weight_scheme::nvfp4) || counts.contains(weight_scheme::nvfp4_packed);
  c.notes.push_back(text + (fours ? "; activations of NVFP4 are rounded to 8 bits."
                                  : "; activations are not quantised."));
}

/// The weights of the norms inside layers are stored without their 1 and scatter around 0. Files
/// converted to or from other formats may carry it already, which would ruin the model silently.
result<void> refuse_added_ones(const checkpoint& c) {
  double sum = 0;
  std::uint64_t count = 0;
  for (const auto& t : c.files.tensors()) {
    if (!t.name.starts_with("model.language_model.layers.") || t.shape.size() != 1) continue;
    for (std::size_t i = 0; i < t.count(); ++i, ++count) {
      const float w = element(t, i);
      if (w < 0) return {};
      sum += w;
    }
  }
  const double mean = sum / static_cast<double>(count);
  if (mean < 0.5) return {};
  return fail(checkpoint_error(
      c.files.file_names().front(),
      "No norm weight of any layer is negative and their mean is " + std::to_string(mean) +
          ", so 1 seems to have been added to them already; they must be stored without it."));
}

std::filesystem::path environment_path(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::filesystem::path{} : std::filesystem::path{value};
}

}  // namespace

std::vector<expected_tensor> expected_tensors(const model_config& config) {
  const auto& t = config.text;
  std::vector<expected_tensor> out;
  out.push_back({"model.language_model.embed_tokens.weight", {t.vocab_size, t.hidden_size}});
  for (std::int64_t i = 0; i < t.layers; ++i) add_text_layer(out, t, i);
  out.push_back({"model.language_model.norm.weight", {t.hidden_size}});
  out.push_back({"lm_head.weight", {t.vocab_size, t.hidden_size}});
  if (config.vision) add_vision(out, *config.vision, t.hidden_size);
  return out;
}

result<checkpoint> open_checkpoint(const std::filesystem::path& folder) {
  auto config = read_model_config(folder);
  if (!config) return fail(config.error());
  auto defaults = read_generation_defaults(folder);
  if (!defaults) return fail(defaults.error());
  auto files = tensor_files::open(folder);
  if (!files) return fail(files.error());
  checkpoint c{std::move(*config), std::move(*defaults), std::move(*files), 0, 0, {}, {}};
  const auto expected = expected_tensors(c.config);
  if (auto found = find_tensors(c, expected); !found) return fail(found.error());
  if (auto all = refuse_leftovers(c, expected); !all) return fail(all.error());
  if (auto bare = refuse_added_ones(c); !bare) return fail(bare.error());
  note_formats(c);
  if (c.vision_parameters > 0) {
    c.notes.push_back("Vision tower and projector (" + std::to_string(c.vision_parameters) +
                      " parameters) are present and not loaded; images are not served.");
  }
  return c;
}

std::filesystem::path hub_cache_folder() {
  if (auto cache = environment_path("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (auto home = environment_path("HF_HOME"); !home.empty()) return home / "hub";
  if (auto cache = environment_path("XDG_CACHE_HOME"); !cache.empty()) {
    return cache / "huggingface" / "hub";
  }
  return environment_path("HOME") / ".cache" / "huggingface" / "hub";
}

result<std::filesystem::path> resolve_model(std::string_view model,
                                            const std::filesystem::path& hub_cache) {
  if (std::filesystem::is_directory(model)) {
    if (std::filesystem::exists(std::filesystem::path{model} / "config.json")) {
      return std::filesystem::path{model};
    }
    return fail(error{error_kind::not_found, "model_not_found", "model",
                      "The folder \"" + std::string{model} +
                          "\" holds no config.json; a checkpoint folder as published is needed."});
  }
  const auto slash = model.find('/');
  const bool is_id = slash != std::string_view::npos && slash > 0 && slash + 1 < model.size() &&
                     model.find('/', slash + 1) == std::string_view::npos &&
                     model.find("..") == std::string_view::npos && model.front() != '.';
  const auto name = "\"" + std::string{model} + "\"";
  if (!is_id) {
    return fail(error{error_kind::not_found, "model_not_found", "model",
                      name + " is neither a folder nor a hub id of the form organisation/name."});
  }
  std::string folder = "models--" + std::string{model};
  folder.replace(folder.find('/'), 1, "--");
  std::ifstream reference{hub_cache / folder / "refs" / "main"};
  std::string revision;
  reference >> revision;
  const auto snapshot = hub_cache / folder / "snapshots" / revision;
  const bool plain = !revision.empty() && revision.find_first_of("/.") == std::string::npos;
  if (plain && std::filesystem::is_directory(snapshot)) return snapshot;
  return fail(error{error_kind::not_found, "model_not_found", "model",
                    name + " is not a folder, and the local hub cache has no snapshot of its "
                           "branch main; nothing is downloaded."});
}

}  // namespace glimmer
