#include "model/draft_head_config.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "base/json.hpp"
#include "model/field_reader.hpp"

namespace glimmer {
namespace {

constexpr std::string_view config_file = "config.json";
constexpr std::int64_t taps_most = 64;
constexpr std::int64_t block_most = 64;

/// The three fields that other publishers keep in an object of their own.
constexpr std::string_view nested_object = "dflash_config";
constexpr std::string_view nested_fields[] = {"block_size", "mask_token_id", "target_layer_ids"};

std::string text_of(const json& value) {
  std::string out;
  json_writer{out}.value(value);
  return out;
}

/// The names in `architectures`, and `model_type`: what a head calls itself.
std::vector<std::string> names_of(const json& config) {
  std::vector<std::string> names;
  if (const auto listed = config.find("architectures"); listed && listed->is_array()) {
    for (const auto& name : listed->elements()) {
      if (name.is_string()) names.emplace_back(name.string());
    }
  }
  if (const auto type = config.find("model_type"); type && type->is_string()) {
    names.emplace_back(type->string());
  }
  return names;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

bool named(const json& config, std::string_view word) {
  return std::ranges::any_of(names_of(config), [&](const std::string& name) {
    return lower(name).find(word) != std::string::npos;
  });
}

// ---- DFlash -------------------------------------------------------------------------------------

bool is_dflash(const json& config) {
  const auto names = names_of(config);
  return std::ranges::find(names, "MuseGlimmerAssistantModel") != names.end() ||
         std::ranges::find(names, "DFlashDraftModel") != names.end();
}

void read_taps(field_reader& in, std::vector<std::int64_t>& taps) {
  const auto listed = in.find("target_layer_ids");
  if (!listed->is_array() || listed->size() == 0 || listed->size() > taps_most) {
    return in.refuse("target_layer_ids must be a list of 1 to " + std::to_string(taps_most) +
                     " layers.");
  }
  for (const auto& item : listed->elements()) {
    const auto id = item.is_number() ? item.integer() : std::nullopt;
    if (!id || *id < 0 || std::ranges::find(taps, *id) != taps.end()) {
      return in.refuse("target_layer_ids holds " + text_of(item) +
                       "; allowed are different layer numbers from 0 on.");
    }
    taps.push_back(*id);
  }
}

/// Block size, mask and taps, from wherever they stand.
void read_block(field_reader& in, draft_head_config& c) {
  auto nested = in.inside(nested_object);
  for (const auto name : nested_fields) {
    const auto outside = in.find(name);
    const auto inside = nested.find(name);
    if (outside && inside && text_of(*outside) != text_of(*inside)) {
      in.refuse(std::string{name} + " is " + text_of(*outside) + ", and " + text_of(*inside) +
                " in " + std::string{nested_object} + ".");
    }
    if (!outside && !inside) in.require(name);
  }
  if (in.refused()) return;
  const auto holder = [&](std::string_view name) -> field_reader& {
    return nested.find(name) ? nested : in;
  };
  holder("block_size").count("block_size", c.block_size, 2);
  holder("mask_token_id").token("mask_token_id", c.mask_token);
  read_taps(holder("target_layer_ids"), c.taps);
  in.absorb(nested);
  if (c.block_size > block_most) {
    in.refuse("block_size " + std::to_string(c.block_size) + " is above the limit of " +
              std::to_string(block_most) + ".");
  }
}

/// A count that only repeats something of the target.
void repeated_count(field_reader& in, std::string_view name, std::optional<std::int64_t>& to) {
  if (in.find(name)) in.count(name, to.emplace());
}

/// Every layer slides over the context, in both directions.
void check_attention(field_reader& in, const draft_head_config& c) {
  in.never("is_causal");
  in.never("causal");
  in.never("attention_bias");
  in.only({"hidden_act", "silu"});
  in.require("sliding_window");
  const auto slides = in.find("use_sliding_window");
  if (slides && !(slides->is_boolean() && slides->boolean())) {
    in.refuse("use_sliding_window is " + text_of(*slides) +
              "; heads that see the whole context are not supported.");
  }
  const auto listed = in.find("layer_types");
  if (!listed) return;
  const auto kinds = listed->is_array() ? listed->elements() : std::vector<json>{};
  const bool all = std::ranges::all_of(kinds, [](const json& kind) {
    return kind.is_string() && kind.string() == "sliding_attention";
  });
  if (!all || std::ssize(kinds) != c.layers) {
    in.refuse("layer_types must say \"sliding_attention\" for each of the " +
              std::to_string(c.layers) + " layers.");
  }
}

void check_shape(field_reader& in, const draft_head_config& c) {
  if (c.query_heads % c.kv_heads != 0) {
    in.refuse("num_attention_heads " + std::to_string(c.query_heads) +
              " is not a multiple of num_key_value_heads " + std::to_string(c.kv_heads) + ".");
  }
  if (c.head_dim % 2 != 0) {
    in.refuse("head_dim " + std::to_string(c.head_dim) + " is odd, so it cannot be rotated.");
  }
  constexpr std::int64_t width_max = std::int64_t{1} << 24;
  for (const auto width : {c.query_width(), c.feature_width(), c.intermediate_size}) {
    if (width > width_max) {
      in.refuse("A width of " + std::to_string(width) + " is above the limit of " +
                std::to_string(width_max) + ".");
    }
  }
  if (c.layers > 64) in.refuse("num_hidden_layers is above the limit of 64 for a draft head.");
}

result<draft_head_config> read_dflash(const json& config) {
  field_reader in{config_file, config};
  draft_head_config c;
  in.count("hidden_size", c.hidden_size);
  in.count("intermediate_size", c.intermediate_size);
  in.count("num_hidden_layers", c.layers);
  in.count("num_attention_heads", c.query_heads);
  in.count("num_key_value_heads", c.kv_heads);
  in.count("head_dim", c.head_dim);
  in.count("max_position_embeddings", c.positions_max);
  in.count("sliding_window", c.window);
  in.number("rms_norm_eps", c.norm_eps, {0, 1});
  in.rope(c.rope_theta);
  repeated_count(in, "vocab_size", c.vocab_size);
  repeated_count(in, "draft_vocab_size", c.draft_vocab_size);
  repeated_count(in, "num_target_layers", c.target_layers);
  check_attention(in, c);
  read_block(in, c);
  if (in.refused()) return fail(in.refusal());
  check_shape(in, c);
  if (in.refused()) return fail(in.refusal());
  return c;
}

// ---- kinds that are recognised only to be refused -----------------------------------------------

bool is_dspark(const json& config) {
  return named(config, "dspark") || config.find("dspark_config") || config.find("markov_rank");
}

bool is_dflash2(const json& config) {
  return named(config, "dflash2") || config.find("dflash2_config");
}

result<draft_head_config> refuse_kind(const char* kind) {
  return fail(checkpoint_error(
      config_file, std::string{"This is a "} + kind + " head; only DFlash heads are supported."));
}

/// What stands for a kind of head: how its configuration is told from others, and who reads it.
struct head_kind {
  bool (*recognises)(const json& config);
  result<draft_head_config> (*read)(const json& config);
};

/// The first that recognises a configuration reads it.
constexpr head_kind kinds[] = {
    {is_dspark, [](const json&) { return refuse_kind("DSpark"); }},
    {is_dflash2, [](const json&) { return refuse_kind("DFlash2"); }},
    {is_dflash, read_dflash},
};

}  // namespace

result<draft_head_config> parse_draft_head_config(std::string_view json_text) {
  const auto config = parse_object(config_file, json::parse(json_text));
  if (!config) return fail(of_draft_head(config.error()));
  for (const auto& kind : kinds) {
    if (!kind.recognises(*config)) continue;
    auto read = kind.read(*config);
    if (!read) return fail(of_draft_head(read.error()));
    return read;
  }
  std::string given;
  for (const auto& name : names_of(*config)) given += (given.empty() ? "" : ", ") + name;
  return fail(of_draft_head(checkpoint_error(
      config_file, "architectures and model_type say " + (given.empty() ? "nothing" : given) +
                       "; a draft head is a MuseGlimmerAssistantModel or a DFlashDraftModel.")));
}

result<draft_head_config> read_draft_head_config(const std::filesystem::path& folder) {
  const auto text = read_checkpoint_text(folder / config_file);
  if (!text) return fail(of_draft_head(text.error()));
  return parse_draft_head_config(*text);
}

result<void> check_pair(const draft_head_config& head, const text_config& target) {
  const auto refuse = [](std::string sentence) {
    return fail(of_draft_head(checkpoint_error(config_file, std::move(sentence))));
  };
  if (head.hidden_size != target.hidden_size) {
    return refuse("hidden_size is " + std::to_string(head.hidden_size) + " and the target's is " +
                  std::to_string(target.hidden_size) + "; they must be equal.");
  }
  const auto deepest = std::ranges::max(head.taps);
  if (deepest >= target.layers) {
    return refuse("target_layer_ids goes up to " + std::to_string(deepest) +
                  ", and the target has the layers 0 to " + std::to_string(target.layers - 1) +
                  ".");
  }
  if (head.mask_token >= target.vocab_size) {
    return refuse("mask_token_id is " + std::to_string(head.mask_token) +
                  ", and the target's vocabulary ends at " + std::to_string(target.vocab_size - 1) +
                  ".");
  }
  for (const auto& [name, theirs, ours] :
       {std::tuple{"vocab_size", head.vocab_size, target.vocab_size},
        std::tuple{"draft_vocab_size", head.draft_vocab_size, target.vocab_size},
        std::tuple{"num_target_layers", head.target_layers, target.layers}}) {
    if (theirs && *theirs != ours) {
      return refuse(std::string{name} + " is " + std::to_string(*theirs) + ", and the target has " +
                    std::to_string(ours) + ".");
    }
  }
  return {};
}

error of_draft_head(error e) {
  e.text = "The draft head's " + e.text;
  return e;
}

}  // namespace glimmer
