#include "model/quantization.hpp"

#include <algorithm>
#include <initializer_list>
#include <regex>

namespace glimmer {
namespace {

using patterns = std::vector<std::string>;

error not_known(std::string sentence) {
  return bad_value("quantization_config", "quantization_config " + std::move(sentence));
}

std::string text_of(const std::optional<json>& value) {
  return value && value->is_string() ? std::string{value->string()} : std::string{};
}

bool is_set(const std::optional<json>& value) {
  return value && !value->is_null();
}

/// A field's integer; -1 for everything else.
std::int64_t integer_of(const json& object, std::string_view key) {
  const auto value = object.find(key);
  if (!value || !value->is_number()) return -1;
  return value->integer().value_or(-1);
}

/// An absent or null list is empty; fails for anything that is no list of strings.
result<patterns> names_of(const json& object, std::string_view key) {
  const auto value = object.find(key);
  patterns names;
  if (!is_set(value)) return names;
  bool strings = value->is_array();
  if (strings) {
    for (const auto& item : value->elements()) {
      strings = strings && item.is_string();
      names.push_back(text_of(item));
    }
  }
  if (!strings) return fail(not_known("holds a list \"" + std::string{key} + "\" not of names."));
  return names;
}

bool is_block(const std::optional<json>& value) {
  if (!value || !value->is_array() || value->size() != 2) return false;
  return std::ranges::all_of(value->elements(),
                             [](const json& n) { return n.is_number() && n.integer() == 128; });
}

/// A module's name and what it is held against.
struct comparison {
  std::string_view module;
  std::string_view pattern;
};

bool matches_wildcard(const comparison& c) {
  const auto star = c.pattern.find('*');
  if (star == std::string_view::npos) return c.module == c.pattern;
  if (!c.module.starts_with(c.pattern.substr(0, star))) return false;
  const auto rest = c.pattern.substr(star + 1);
  for (auto at = star; at <= c.module.size(); ++at) {
    if (matches_wildcard({c.module.substr(at), rest})) return true;
  }
  return false;
}

/// Expressions match from the name's first character on, as their producers' do.
result<bool> matches_expression(const comparison& c) {
  const auto expression = c.pattern.substr(3);
  try {
    const std::regex compiled{expression.begin(), expression.end()};
    return std::regex_search(c.module.begin(), c.module.end(), compiled,
                             std::regex_constants::match_continuous);
  } catch (const std::regex_error&) {
    return fail(
        not_known("holds an expression that cannot be read: \"" + std::string{expression} + "\"."));
  }
}

result<bool> matches(const comparison& c) {
  const auto [module, pattern] = c;
  if (pattern.starts_with("re:")) return matches_expression(c);
  if (pattern.find('*') != std::string_view::npos) return matches_wildcard(c);
  return pattern == "Linear" || module == pattern ||
         (module.starts_with(pattern) && module[pattern.size()] == '.');
}

result<bool> matches_any(std::string_view module, const patterns& list) {
  for (const auto& pattern : list) {
    const auto hit = matches({module, pattern});
    if (!hit || *hit) return hit;
  }
  return false;
}

/// Whether a group's activations have a static scale in the file: not without quantised
/// activations, and not when their scales are formed on the fly. "local" is both, with one stored.
bool stored_input_scale(const json& group) {
  const auto inputs = group.find("input_activations");
  if (!is_set(inputs)) return false;
  const auto dynamic = inputs->find("dynamic");
  return !(dynamic && dynamic->is_boolean() && dynamic->boolean());
}

/// Fails for weights that no scheme here describes; `packed` is the scheme of 4-bit ones.
result<declared_weight> weight_of_group(const json& group, weight_scheme packed) {
  const auto weights = group.find("weights");
  if (!is_set(weights)) return fail(not_known("holds a group without weights."));
  declared_weight out{.input_scale = stored_input_scale(group)};
  const auto bits = integer_of(*weights, "num_bits");
  const auto strategy = text_of(weights->find("strategy"));
  const bool is_float = text_of(weights->find("type")) == "float";
  const bool by_block = strategy == "block" && is_block(weights->find("block_structure"));
  if (is_float && bits == 8 && by_block) {
    out.scheme = weight_scheme::fp8_block;
  } else if (is_float && bits == 8 && (strategy == "tensor" || strategy.empty()) &&
             !is_set(weights->find("group_size"))) {
    out.scheme = weight_scheme::fp8_tensor;
  } else if (is_float && bits == 4 && (strategy == "tensor_group" || strategy.empty()) &&
             integer_of(*weights, "group_size") == 16) {
    out.scheme = packed;
  } else {
    return fail(not_known("declares weights of " + std::to_string(bits) + " bits, type \"" +
                          text_of(weights->find("type")) + "\", strategy \"" + strategy +
                          "\", which are not supported."));
  }
  return out;
}

/// One of ModelOpt's names for a layer's arithmetic.
result<declared_weight> weight_of_algorithm(const std::string& name, const json& about) {
  if (name == "FP8") return declared_weight{weight_scheme::fp8_tensor, true};
  const bool weights_alone = name == "W4A16_NVFP4";
  if ((name == "NVFP4" || weights_alone) &&
      (!is_set(about.find("group_size")) || integer_of(about, "group_size") == 16)) {
    return declared_weight{weight_scheme::nvfp4, !weights_alone};
  }
  return fail(not_known("declares the algorithm \"" + name + "\", which is not supported."));
}

}  // namespace

std::string_view to_string(weight_scheme scheme) {
  switch (scheme) {
    case weight_scheme::plain: return "plain";
    case weight_scheme::fp8_block: return "FP8 in blocks";
    case weight_scheme::fp8_tensor: return "FP8 with one scale";
    case weight_scheme::nvfp4: return "NVFP4";
    case weight_scheme::nvfp4_packed: return "packed NVFP4";
  }
  return "?";
}

result<quantization_config> quantization_config::parse(const json& value) {
  if (!value.is_object()) return fail(not_known("is not an object."));
  const auto method = text_of(value.find("quant_method"));
  auto parsed = method == "compressed-tensors" ? parse_compressed_tensors(value)
                : method == "fp8"              ? parse_fp8(value)
                : method == "modelopt"
                    ? parse_modelopt(value)
                    : result<quantization_config>{fail(not_known("names the method \"" + method +
                                                                 "\", which is not supported."))};
  if (parsed) parsed->method_ = method;
  return parsed;
}

result<quantization_config> quantization_config::parse_compressed_tensors(const json& value) {
  quantization_config config;
  const auto groups = value.find("config_groups");
  if (!groups || !groups->is_object() || groups->size() == 0) {
    return fail(not_known("has no config_groups."));
  }
  for (const auto& member : groups->elements()) {
    auto targets = names_of(member, "targets");
    if (!targets) return fail(targets.error());
    const auto weight = weight_of_group(member, weight_scheme::nvfp4_packed);
    if (!weight) return fail(weight.error());
    config.groups_.push_back({std::move(*targets), *weight});
  }
  auto ignored = names_of(value, "ignore");
  if (!ignored) return fail(ignored.error());
  config.ignored_ = std::move(*ignored);
  return config;
}

result<quantization_config> quantization_config::parse_fp8(const json& value) {
  quantization_config config;
  declared_weight weight{weight_scheme::fp8_tensor,
                         text_of(value.find("activation_scheme")) == "static"};
  if (const auto block = value.find("weight_block_size"); is_set(block)) {
    if (!is_block(block)) return fail(not_known("has a weight_block_size other than [128, 128]."));
    weight.scheme = weight_scheme::fp8_block;
  }
  config.groups_.push_back({{"Linear"}, weight});
  for (const auto* list : {"modules_to_not_convert", "ignored_layers"}) {
    const auto names = names_of(value, list);
    if (!names) return fail(names.error());
    config.ignored_.insert(config.ignored_.end(), names->begin(), names->end());
  }
  return config;
}

result<quantization_config> quantization_config::parse_modelopt(const json& value) {
  quantization_config config;
  for (const auto* list : {"ignore", "exclude_modules"}) {
    const auto names = names_of(value, list);
    if (!names) return fail(names.error());
    config.ignored_.insert(config.ignored_.end(), names->begin(), names->end());
  }
  const auto algorithm = text_of(value.find("quant_algo"));
  if (algorithm == "MIXED_PRECISION") {
    const auto layers = value.find("quantized_layers");
    if (!layers || !layers->is_object()) return fail(not_known("has no map quantized_layers."));
    for (const auto& layer : layers->elements()) {
      const auto weight = weight_of_algorithm(text_of(layer.find("quant_algo")), layer);
      if (!weight) return fail(weight.error());
      config.groups_.push_back({{std::string{layer.key()}}, *weight});
    }
    return config;
  }
  auto weight = weight_of_algorithm(algorithm, value);
  if (!weight) return fail(weight.error());
  if (const auto groups = value.find("config_groups"); groups && groups->is_object()) {
    // One algorithm for all, so that the groups say no more than whether activations have scales.
    for (const auto& member : groups->elements()) {
      const auto grouped = weight_of_group(member, weight_scheme::nvfp4);
      if (!grouped) return fail(grouped.error());
      if (grouped->scheme != weight->scheme) {
        return fail(not_known("declares " + algorithm + " and a group of another format."));
      }
      weight->input_scale = grouped->input_scale;
    }
  }
  config.groups_.push_back({{"Linear"}, *weight});
  return config;
}

result<declared_weight> quantization_config::of(std::string_view module) const {
  const auto ignored = matches_any(module, ignored_);
  if (!ignored) return fail(ignored.error());
  std::optional<declared_weight> found;
  for (const auto& g : groups_) {
    const auto hit = matches_any(module, g.patterns);
    if (!hit) return fail(hit.error());
    if (!*hit) continue;
    if (found && *found != g.weight) {
      return fail(not_known("has two groups that claim module " + std::string{module} + "."));
    }
    found = g.weight;
  }
  return *ignored || !found ? declared_weight{} : *found;
}

}  // namespace glimmer
