#include "tools/make_checkpoint/recipe.hpp"

#include <cmath>

#include "base/json.hpp"
#include "tools/make_checkpoint/formats.hpp"

namespace glimmer {
namespace {

// Indices of the special tokens that the configuration files name; ids are base + index.
constexpr token_id end_of_text_index = 1;
constexpr token_id end_of_turn_index = 8;
constexpr token_id pad_index = 18;
constexpr token_id video_index = 91;
constexpr token_id image_index = 92;

/// sqrt(256 / hidden): the multiplier that the release uses at its own width.
double output_multiplier(const text_config& text) {
  return std::sqrt(256.0 / static_cast<double>(text.hidden_size));
}

/// A number that readers with strict types take for a float: 1.0, never 1.
std::string float_text(double value) {
  std::string text;
  json_writer{text}.number(value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

checkpoint_recipe with_tokens(checkpoint_recipe r) {
  auto& text = r.config.text;
  r.special_base = static_cast<token_id>(text.vocab_size) - special_token_count;
  r.config.bos_token = r.special_base;
  r.config.eos_tokens = {r.special_base + end_of_text_index, r.special_base + end_of_turn_index};
  r.config.image_token = r.special_base + image_index;
  r.config.video_token = r.special_base + video_index;
  text.output_multiplier = static_cast<float>(output_multiplier(text));
  for (std::int64_t i = 0; i < text.layers; ++i) {
    const bool full = (text.layers - 1 - i) % 4 == 0;
    text.layer_groups.push_back(full ? kv_group::full : kv_group::sliding);
    text.layer_rotates.push_back(!full);
  }
  return r;
}

checkpoint_recipe tiny() {
  checkpoint_recipe r{.name = "tiny"};
  auto& t = r.config.text;
  t.vocab_size = 1024;
  t.hidden_size = 192;
  t.intermediate_size = 576;
  t.layers = 8;
  t.query_heads = 8;
  t.kv_heads = 2;
  t.head_dim = 16;
  t.window = 16;
  t.positions_max = 4096;
  auto& v = r.config.vision.emplace();
  v.hidden_size = 48;
  v.intermediate_size = 280;
  v.layers = 6;
  v.heads = 3;
  v.position_rows = v.position_columns = 4;
  v.merged_width = 192;
  v.projector_width = 128;
  return r;
}

/// Seven layers, so that the full layers (2 and 6) are found only by counting from the last.
checkpoint_recipe tiny_odd() {
  auto r = tiny();
  r.name = "tiny-odd";
  r.config.text.layers = 7;
  r.write_layer_lists = false;
  return r;
}

/// The head shape of the release, for kernels that are compiled for it.
checkpoint_recipe tiny_kernel() {
  auto r = tiny();
  r.name = "tiny-kernel";
  auto& t = r.config.text;
  t.hidden_size = 256;
  t.intermediate_size = 768;
  t.layers = 4;
  t.query_heads = 32;
  t.head_dim = 128;
  auto& v = *r.config.vision;
  v.hidden_size = 96;
  v.intermediate_size = 560;
  v.heads = 6;
  v.merged_width = 384;
  return r;
}

/// The weights of tiny, quantised.
checkpoint_recipe tiny_in(const char* name, checkpoint_recipe::weight_format format) {
  auto r = tiny();
  r.name = name;
  r.format = format;
  return r;
}

/// Half the width of the release, one period of layers.
checkpoint_recipe mid() {
  checkpoint_recipe r{.name = "mid"};
  auto& t = r.config.text;
  t.vocab_size = 16'384;
  t.hidden_size = 3328;
  t.intermediate_size = 9984;
  t.layers = 4;
  t.query_heads = 16;
  t.kv_heads = 1;
  auto& v = r.config.vision.emplace();
  v.hidden_size = 768;
  v.intermediate_size = 4480;
  v.layers = 6;
  v.heads = 8;
  v.merged_width = 3072;
  v.projector_width = 2048;
  return r;
}

/// Depth where `mid` has width.
checkpoint_recipe mid_deep() {
  auto r = mid();
  r.name = "mid-deep";
  auto& t = r.config.text;
  t.hidden_size = 1664;
  t.intermediate_size = 4992;
  t.layers = 12;
  auto& v = *r.config.vision;
  v.hidden_size = 384;
  v.intermediate_size = 2240;
  v.layers = 8;
  v.heads = 4;
  v.merged_width = 1536;
  v.projector_width = 1024;
  return r;
}

/// One sliding and one full layer of the release's own shape.
checkpoint_recipe layer_real() {
  checkpoint_recipe r{.name = "layer-real"};
  r.config.text.vocab_size = 4096;
  r.config.text.layers = 2;
  return r;
}

std::vector<checkpoint_recipe> all_recipes() {
  using format = checkpoint_recipe::weight_format;
  return {tiny(),
          tiny_odd(),
          tiny_kernel(),
          tiny_in("tiny-fp8", format::fp8),
          tiny_in("tiny-nvfp4", format::nvfp4),
          tiny_in("tiny-mixed", format::mixed),
          tiny_in("tiny-ct-nvfp4", format::packed_nvfp4),
          mid(),
          mid_deep(),
          layer_real()};
}

void write_layer_lists(json_writer& w, const text_config& t) {
  w.key("layer_types").begin_array();
  for (const auto group : t.layer_groups) {
    w.string(group == kv_group::full ? "full_attention" : "sliding_attention");
  }
  w.end_array();
  w.key("layer_rope_theta").begin_array();
  for (const auto rotates : t.layer_rotates) w.raw(rotates ? "500000.0" : "0");
  w.end_array();
}

void write_text_config(json_writer& w, const checkpoint_recipe& r) {
  const auto& t = r.config.text;
  w.key("text_config").begin_object();
  w.key("model_type").string("muse_glimmer_text");
  w.key("vocab_size").integer(t.vocab_size);
  w.key("hidden_size").integer(t.hidden_size);
  w.key("intermediate_size").integer(t.intermediate_size);
  w.key("num_hidden_layers").integer(t.layers);
  w.key("num_attention_heads").integer(t.query_heads);
  w.key("num_key_value_heads").integer(t.kv_heads);
  w.key("head_dim").integer(t.head_dim);
  w.key("hidden_activation").string("silu");
  w.key("max_position_embeddings").integer(t.positions_max);
  w.key("sliding_window").integer(t.window);
  w.key("rms_norm_eps").raw("1e-05");
  w.key("post_norm_eps").raw("1e-08");
  w.key("qk_scale_factor").raw("3.87");
  w.key("output_multiplier").raw(float_text(output_multiplier(t)));
  w.key("final_logit_softcapping").raw("20.0");
  w.key("tie_word_embeddings").boolean(false);
  w.key("attention_bias").boolean(false);
  w.key("attention_dropout").raw("0.0");
  w.key("bos_token_id").integer(r.config.bos_token);
  w.key("eos_token_id").integer(r.config.eos_tokens.front());
  w.key("rope_parameters").begin_object();
  w.key("rope_type").string("default");
  w.key("rope_theta").raw("500000.0");
  w.end_object();
  if (r.write_layer_lists) write_layer_lists(w, t);
  w.end_object();
}

void write_vision_config(json_writer& w, const vision_config& v) {
  w.key("vision_config").begin_object();
  w.key("model_type").string("muse_glimmer_vision");
  w.key("hidden_size").integer(v.hidden_size);
  w.key("num_hidden_layers").integer(v.layers);
  w.key("num_attention_heads").integer(v.heads);
  w.key("intermediate_size").integer(v.intermediate_size);
  w.key("patch_size").integer(v.patch_size);
  w.key("patch_temporal").integer(v.patch_temporal);
  w.key("merge_size").integer(v.merge_size);
  w.key("pos_emb_height").integer(v.position_rows);
  w.key("pos_emb_width").integer(v.position_columns);
  w.key("hidden_act").string("gelu");
  w.key("layer_norm_eps").raw("1e-05");
  w.key("max_position_embeddings").integer(v.position_rows * v.position_columns);
  w.key("rope_parameters").begin_object();
  w.key("rope_type").string("default");
  w.key("rope_theta").raw("10000.0");
  w.end_object();
  w.key("layer_types").begin_array();
  for (std::int64_t i = 0; i < v.layers; ++i) {
    const bool full = (i + 1) % 4 == 0 || i == v.layers - 1;
    w.string(full ? "full_attention" : "window_attention");
  }
  w.end_array();
  w.end_object();
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const auto& r : all_recipes()) names.push_back(r.name);
  return names;
}

result<checkpoint_recipe> find_recipe(std::string_view name) {
  std::string known;
  for (auto& r : all_recipes()) {
    if (r.name == name) return with_tokens(std::move(r));
    known += (known.empty() ? "" : ", ") + r.name;
  }
  return fail(bad_value("recipe", "No recipe is called \"" + std::string{name} +
                                      "\"; the known ones are " + known + "."));
}

std::string config_json(const checkpoint_recipe& recipe) {
  std::string out;
  json_writer w{out};
  w.begin_object();
  w.key("architectures").begin_array().string("MuseGlimmerForConditionalGeneration").end_array();
  w.key("model_type").string("muse_glimmer");
  w.key("dtype").string("bfloat16");
  w.key("image_token_id").integer(recipe.config.image_token);
  w.key("video_token_id").integer(recipe.config.video_token);
  if (const auto& v = recipe.config.vision) {
    w.key("out_hidden_size").integer(v->merged_width);
    w.key("projector_hidden_size").integer(v->projector_width);
    w.key("projector_hidden_act").string("gelu");
  }
  write_text_config(w, recipe);
  if (recipe.config.vision) write_vision_config(w, *recipe.config.vision);
  write_quantization_config(w, recipe);
  w.end_object();
  return out;
}

std::string generation_config_json(const checkpoint_recipe& recipe) {
  std::string out;
  json_writer w{out};
  w.begin_object();
  w.key("bos_token_id").integer(recipe.config.bos_token);
  w.key("eos_token_id").begin_array();
  for (const auto token : recipe.config.eos_tokens) w.integer(token);
  w.end_array();
  w.key("pad_token_id").integer(recipe.special_base + pad_index);
  w.key("max_length").integer(recipe.config.text.positions_max);
  w.key("do_sample").boolean(true);
  w.key("temperature").raw("1.0");
  w.key("top_p").raw("0.95");
  w.key("top_k").integer(64);
  w.end_object();
  return out;
}

}  // namespace glimmer
