#include "model/config.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/json.hpp"
#include "model/field_reader.hpp"

namespace glimmer {
namespace {

constexpr std::string_view config_file = "config.json";
constexpr std::string_view generation_file = "generation_config.json";

/// The rule for absent lists: every fourth layer, counted backwards from the last, is full.
bool full_by_rule(const text_config& t, std::int64_t layer) {
  return (t.layers - 1 - layer) % 4 == 0;
}

void read_layer_types(field_reader& in, text_config& t) {
  const auto listed = in.find("layer_types");
  if (!listed) {
    for (std::int64_t i = 0; i < t.layers; ++i) {
      t.layer_groups.push_back(full_by_rule(t, i) ? kv_group::full : kv_group::sliding);
    }
    return;
  }
  if (!listed->is_array() || listed->size() != static_cast<std::size_t>(t.layers)) {
    return in.refuse("layer_types must be a list of num_hidden_layers = " +
                     std::to_string(t.layers) + " entries.");
  }
  for (const auto& kind : listed->elements()) {
    const auto name = kind.is_string() ? kind.string() : std::string_view{};
    if (name != "full_attention" && name != "sliding_attention") {
      return in.refuse("layer_types may hold \"sliding_attention\" and \"full_attention\" only.");
    }
    t.layer_groups.push_back(name == "full_attention" ? kv_group::full : kv_group::sliding);
  }
}

/// A number switches rotation on and must be the one global theta; 0 and null switch it off.
void read_layer_thetas(field_reader& in, text_config& t) {
  const auto listed = in.find("layer_rope_theta");
  if (!listed) {
    for (std::int64_t i = 0; i < t.layers; ++i) t.layer_rotates.push_back(!full_by_rule(t, i));
    return;
  }
  if (!listed->is_array() || listed->size() != static_cast<std::size_t>(t.layers)) {
    return in.refuse("layer_rope_theta must be a list of num_hidden_layers = " +
                     std::to_string(t.layers) + " entries.");
  }
  for (const auto& entry : listed->elements()) {
    if (!entry.is_null() && !entry.is_number()) {
      return in.refuse("layer_rope_theta may hold numbers and null only.");
    }
    const auto theta = entry.is_null() ? 0.0f : static_cast<float>(entry.number());
    if (theta != 0 && theta != t.rope_theta) {
      return in.refuse("layer_rope_theta holds " + field_reader::shortest(theta) +
                       ", which is neither 0 nor the global rope_theta " +
                       field_reader::shortest(t.rope_theta) + ".");
    }
    t.layer_rotates.push_back(theta != 0);
  }
}

void check_text_shape(field_reader& in, const text_config& t) {
  if (t.query_heads % t.kv_heads != 0) {
    in.refuse("num_attention_heads " + std::to_string(t.query_heads) +
              " is not a multiple of num_key_value_heads " + std::to_string(t.kv_heads) + ".");
  }
  if (t.head_dim % 2 != 0) {
    in.refuse("head_dim " + std::to_string(t.head_dim) + " is odd, so it cannot be rotated.");
  }
  constexpr std::int64_t width_max = std::int64_t{1} << 24;
  for (const auto width : {t.query_width(), t.hidden_size, t.intermediate_size, t.vocab_size}) {
    if (width > width_max) {
      in.refuse("A width of " + std::to_string(width) + " is above the limit of " +
                std::to_string(width_max) + ".");
    }
  }
}

void read_text(field_reader& in, model_config& config) {
  auto& t = config.text;
  in.only({"model_type", "muse_glimmer_text"});
  in.count("vocab_size", t.vocab_size);
  in.count("hidden_size", t.hidden_size);
  in.count("intermediate_size", t.intermediate_size);
  in.count("num_hidden_layers", t.layers);
  in.count("num_attention_heads", t.query_heads);
  in.count("num_key_value_heads", t.kv_heads);
  in.count("head_dim", t.head_dim);
  in.count("max_position_embeddings", t.positions_max);
  in.count("sliding_window", t.window);
  in.number("rms_norm_eps", t.norm_eps, {0, 1});
  in.number("post_norm_eps", t.post_norm_eps, {0, 1});
  in.number("qk_scale_factor", t.qk_scale, {0, 1000});
  in.number("output_multiplier", t.output_multiplier, {0, 1000});
  in.number("final_logit_softcapping", t.logit_cap, {0, 1e6});
  in.only({"hidden_activation", "silu"});
  in.never("attention_bias");
  in.never("tie_word_embeddings");
  in.token("bos_token_id", config.bos_token);
  in.tokens("eos_token_id", config.eos_tokens);
  if (t.layers > 1024) in.refuse("num_hidden_layers is above the limit of 1024.");
  if (in.refused()) return;
  in.rope(t.rope_theta);
  read_layer_types(in, t);
  read_layer_thetas(in, t);
  check_text_shape(in, t);
}

void read_vision(field_reader& in, vision_config& v) {
  in.only({"model_type", "muse_glimmer_vision"});
  in.count("hidden_size", v.hidden_size);
  in.count("intermediate_size", v.intermediate_size);
  in.count("num_hidden_layers", v.layers);
  in.count("num_attention_heads", v.heads);
  in.count("patch_size", v.patch_size);
  in.count("patch_temporal", v.patch_temporal);
  in.count("merge_size", v.merge_size);
  in.count("pos_emb_height", v.position_rows);
  in.count("pos_emb_width", v.position_columns);
  if (v.layers > 1024) in.refuse("num_hidden_layers of the vision tower is above 1024.");
}

void read_top(field_reader& in, model_config& config) {
  in.only({"model_type", "muse_glimmer"});
  in.token("image_token_id", config.image_token);
  in.token("video_token_id", config.video_token);
  auto text = in.inside("text_config");
  read_text(text, config);
  in.absorb(text);
  if (in.find("vision_config")) {
    auto& v = config.vision.emplace();
    in.count("out_hidden_size", v.merged_width);
    in.count("projector_hidden_size", v.projector_width);
    auto vision = in.inside("vision_config");
    read_vision(vision, v);
    in.absorb(vision);
    if (v.merged_width != v.hidden_size * v.merge_size * v.merge_size) {
      in.refuse("out_hidden_size " + std::to_string(v.merged_width) +
                " is not the vision tower's hidden_size " + std::to_string(v.hidden_size) +
                " times merge_size squared.");
    }
  }
  if (const auto quantization = in.find("quantization_config");
      quantization && !quantization->is_null()) {
    auto parsed = quantization_config::parse(*quantization);
    if (!parsed) return in.refuse(parsed.error().text);
    config.quantization = std::move(*parsed);
  }
}

/// `number` into an optional that an absent field leaves empty.
void optional_number(field_reader& in, std::string_view name, std::optional<float>& to,
                     field_reader::bounds allowed) {
  if (!in.find(name)) return;
  in.number(name, to.emplace(), allowed);
}

void optional_token(field_reader& in, std::string_view name, std::optional<token_id>& to) {
  if (in.find(name)) in.token(name, to.emplace());
}

}  // namespace

std::int64_t text_config::layers_in(kv_group group) const {
  return std::count(layer_groups.begin(), layer_groups.end(), group);
}

result<model_config> parse_model_config(std::string_view json_text) {
  const auto parsed = parse_object(config_file, json::parse(json_text));
  if (!parsed) return fail(parsed.error());
  field_reader in{config_file, *parsed};
  model_config config;
  read_top(in, config);
  if (in.refused()) return fail(in.refusal());
  return config;
}

result<generation_defaults> parse_generation_defaults(std::string_view json_text) {
  const auto parsed = parse_object(generation_file, json::parse(json_text));
  if (!parsed) return fail(parsed.error());
  field_reader in{generation_file, *parsed};
  generation_defaults defaults;
  constexpr double below_zero = -1e-300;  // an open bound that lets 0 in
  optional_number(in, "temperature", defaults.temperature, {below_zero, 100});
  optional_number(in, "top_p", defaults.top_p, {0, 1});
  optional_number(in, "min_p", defaults.min_p, {below_zero, 1});
  optional_number(in, "repetition_penalty", defaults.repetition_penalty, {0, 100});
  if (in.find("top_k")) {
    std::int64_t top_k = 0;
    in.count("top_k", top_k, 0);
    defaults.top_k = static_cast<std::int32_t>(top_k);
  }
  optional_token(in, "bos_token_id", defaults.bos_token);
  optional_token(in, "pad_token_id", defaults.pad_token);
  in.tokens("eos_token_id", defaults.eos_tokens);
  if (in.refused()) return fail(in.refusal());
  return defaults;
}

result<model_config> read_model_config(const std::filesystem::path& folder) {
  const auto text = read_checkpoint_text(folder / config_file);
  if (!text) return fail(text.error());
  return parse_model_config(*text);
}

result<generation_defaults> read_generation_defaults(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / generation_file)) return generation_defaults{};
  const auto text = read_checkpoint_text(folder / generation_file);
  if (!text) return fail(text.error());
  return parse_generation_defaults(*text);
}

std::vector<token_id> end_tokens(const model_config& config, const generation_defaults& defaults) {
  return defaults.eos_tokens.empty() ? config.eos_tokens : defaults.eos_tokens;
}

result<std::string> read_checkpoint_text(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in.is_open() || in.bad()) {
    return fail(checkpoint_error(path.filename().string(), "The file cannot be read."));
  }
  return text;
}

error checkpoint_error(std::string_view file, std::string sentence) {
  error e;
  e.kind = error_kind::bad_request;
  e.code = "invalid_checkpoint";
  e.param = file;
  e.text = std::string{file} + ": " + std::move(sentence);
  return e;
}

}  // namespace glimmer
