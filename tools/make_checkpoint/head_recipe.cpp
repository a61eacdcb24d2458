#include "tools/make_checkpoint/head_recipe.hpp"

#include "base/json.hpp"
#include "model/draft_checkpoint.hpp"
#include "tools/make_checkpoint/checkpoint_writer.hpp"
#include "tools/make_checkpoint/recipe.hpp"

namespace glimmer {
namespace {

/// A reserved token, which no text contains; its place behind the special base.
constexpr token_id mask_index = 100;

/// Every count differs from the target's, and the window from the blocks of 16 and of 8.
head_recipe tiny_head() {
  head_recipe r{.name = "tiny-head", .target = "tiny"};
  auto& c = r.config;
  c.hidden_size = 192;
  c.intermediate_size = 320;
  c.layers = 2;
  c.query_heads = 6;
  c.kv_heads = 3;
  c.head_dim = 32;
  c.positions_max = 4096;
  c.window = 12;
  c.taps = {1, 3, 5};
  return r;
}

/// Short blocks, a window beyond the target's, and taps in an order of their own.
head_recipe tiny_head_4() {
  auto r = tiny_head();
  r.name = "tiny-head-4";
  auto& c = r.config;
  c.query_heads = 4;
  c.kv_heads = 1;
  c.head_dim = 16;
  c.window = 24;
  c.block_size = 4;
  c.taps = {6, 0};
  return r;
}

/// A tenth of the target's weights, as in the release.
head_recipe mid_deep_head() {
  head_recipe r{.name = "mid-deep-head", .target = "mid-deep"};
  auto& c = r.config;
  c.hidden_size = 1664;
  c.intermediate_size = 4992;
  c.layers = 1;
  c.query_heads = 16;
  c.kv_heads = 4;
  c.taps = {1, 5, 10};
  return r;
}

std::vector<head_recipe> all_heads() {
  return {tiny_head(), tiny_head_4(), mid_deep_head()};
}

}  // namespace

std::vector<std::string> head_recipe_names() {
  std::vector<std::string> names;
  for (const auto& r : all_heads()) names.push_back(r.name);
  return names;
}

result<head_recipe> find_head_recipe(std::string_view name) {
  std::string known;
  for (auto& r : all_heads()) {
    known += (known.empty() ? "" : ", ") + r.name;
    if (r.name != name) continue;
    const auto target = find_recipe(r.target);
    if (!target) return fail(target.error());
    r.config.mask_token = target->special_base + mask_index;
    return r;
  }
  return fail(bad_value("recipe", "No head is called \"" + std::string{name} +
                                      "\"; the known ones are " + known + "."));
}

std::string head_config_json(const head_recipe& recipe) {
  const auto& c = recipe.config;
  std::string out;
  json_writer w{out};
  w.begin_object().key("architectures").begin_array();
  w.string("MuseGlimmerAssistantModel").end_array();
  w.key("model_type").string("muse_glimmer_assistant");
  w.key("dtype").string("bfloat16");
  w.key("hidden_size").integer(c.hidden_size);
  w.key("intermediate_size").integer(c.intermediate_size);
  w.key("num_hidden_layers").integer(c.layers);
  w.key("num_attention_heads").integer(c.query_heads);
  w.key("num_key_value_heads").integer(c.kv_heads);
  w.key("head_dim").integer(c.head_dim);
  w.key("hidden_act").string("silu");
  w.key("rms_norm_eps").raw("1e-05");
  w.key("rope_parameters").begin_object();
  w.key("rope_type").string("default").key("rope_theta").raw("500000.0").end_object();
  w.key("max_position_embeddings").integer(c.positions_max);
  w.key("sliding_window").integer(c.window);
  w.key("layer_types").begin_array();
  for (std::int64_t i = 0; i < c.layers; ++i) w.string("sliding_attention");
  w.end_array();
  w.key("attention_dropout").raw("0.0");
  w.key("block_size").integer(c.block_size);
  w.key("mask_token_id").integer(c.mask_token);
  w.key("target_layer_ids").begin_array();
  for (const auto tap : c.taps) w.integer(tap);
  w.end_array().end_object();
  return out;
}

result<void> write_head(const head_recipe& recipe, const std::filesystem::path& folder) {
  std::vector<expected_tensor> tensors;
  for (const auto& m : expected_modules(recipe.config)) {
    tensors.push_back({m.name + ".weight", m.shape});
  }
  return write_plain_checkpoint(folder, head_config_json(recipe), tensors);
}

}  // namespace glimmer
