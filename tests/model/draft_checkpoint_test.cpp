#include "model/draft_checkpoint.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <functional>
#include <map>

#include "base/json.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "model/draft_head_weights.hpp"
#include "tests/model/golden.hpp"
#include "tests/model/temporary_folder.hpp"
#include "tools/make_checkpoint/checkpoint_writer.hpp"

namespace glimmer {
namespace {

/// The tensors of a file that hold their bytes, so that tests can rename, cut and join them.
struct loose_tensor {
  std::string type;
  std::vector<std::int64_t> shape;
  std::string bytes;
};
using loose_tensors = std::map<std::string, loose_tensor>;

loose_tensors tensors_of(const std::string& head) {
  const auto files = tensor_files::open(synthetic_head_folder(head));
  BOOST_REQUIRE(files);
  loose_tensors out;
  for (const auto& t : files->tensors()) {
    const auto* data = reinterpret_cast<const char*>(t.data.data());
    out[t.name] = {t.type, t.shape, {data, data + t.data.size()}};
  }
  return out;
}

std::string safetensors_of(const loose_tensors& tensors) {
  std::string header;
  std::string data;
  json_writer w{header};
  w.begin_object();
  for (const auto& [name, t] : tensors) {
    w.key(name).begin_object().key("dtype").string(t.type).key("shape").begin_array();
    for (const auto extent : t.shape) w.integer(extent);
    w.end_array().key("data_offsets").begin_array();
    w.integer(std::ssize(data)).integer(std::ssize(data + t.bytes)).end_array().end_object();
    data += t.bytes;
  }
  w.end_object();
  std::string length(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(length.data(), &size, sizeof size);
  return length + header + data;
}

const text_config& tiny() {
  return synthetic_checkpoint("tiny").config.text;
}

/// tiny-head with its tensors changed, in a folder of its own.
class changed_head {
 public:
  explicit changed_head(const std::function<void(loose_tensors&)>& change) {
    auto tensors = tensors_of("tiny-head");
    change(tensors);
    folder_.write("config.json", read_text(synthetic_head_folder("tiny-head") / "config.json"));
    folder_.write("model.safetensors", safetensors_of(tensors));
  }
  result<draft_checkpoint> open() const { return open_draft_checkpoint(folder_.path(), tiny()); }
  std::string refusal() const {
    const auto opened = open();
    return opened ? "accepted" : opened.error().text;
  }

 private:
  temporary_folder folder_;
};

/// Every matrix of the head in f32.
std::map<std::string, std::vector<float>> matrices_of(const draft_checkpoint& c) {
  std::map<std::string, std::vector<float>> out;
  for (const auto& [name, m] : c.matrices) out[name] = dequantised(m);
  return out;
}

struct renaming {
  std::string from;
  std::string to;
};
void rename(loose_tensors& tensors, const renaming& r) {
  tensors[r.to] = tensors.at(r.from);
  tensors.erase(r.from);
}

/// Rows of several tensors, one below the other, under a new name.
void join(loose_tensors& tensors, const std::vector<std::string>& from, const std::string& to) {
  loose_tensor joined = tensors.at(from[0]);
  joined.shape[0] = 0;
  joined.bytes.clear();
  for (const auto& name : from) {
    joined.shape[0] += tensors.at(name).shape[0];
    joined.bytes += tensors.at(name).bytes;
    tensors.erase(name);
  }
  tensors[to] = joined;
}

void fuse(loose_tensors& tensors) {
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    const auto w = [&](const char* name) { return layer + name + ".weight"; };
    join(tensors, {w("self_attn.q_proj"), w("self_attn.k_proj"), w("self_attn.v_proj")},
         w("self_attn.qkv_proj"));
    join(tensors, {w("mlp.gate_proj"), w("mlp.up_proj")}, w("mlp.gate_up_proj"));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(draft_checkpoint_test)

BOOST_AUTO_TEST_CASE(the_released_head_has_its_published_tensors_and_parameters) {
  draft_head_config released;
  released.taps = {1, 13, 25, 37, 49};
  const auto modules = expected_modules(released);
  BOOST_TEST(modules.size() == 58u);
  std::uint64_t parameters = 0;
  for (const auto& m : modules) {
    std::uint64_t count = 1;
    for (const auto extent : m.shape) count *= static_cast<std::uint64_t>(extent);
    parameters += count;
  }
  BOOST_TEST(parameters == 2'555'985'152u);
}

BOOST_AUTO_TEST_CASE(a_synthetic_head_opens_and_says_where_its_norms_lie) {
  for (const auto* name : {"tiny-head", "tiny-head-4"}) {
    const auto c = open_draft_checkpoint(synthetic_head_folder(name), tiny());
    BOOST_REQUIRE_MESSAGE(c, (c ? "" : c.error().text));
    BOOST_TEST(c->norms.size() + c->matrices.size() == expected_modules(c->config).size());
    BOOST_REQUIRE(c->notes.size() == 1u);
    BOOST_TEST(c->notes[0].find("layers.1.self_attn.k_norm 1.") != std::string::npos, c->notes[0]);
  }
}

BOOST_AUTO_TEST_CASE(other_spellings_of_the_names_are_the_same_head) {
  const auto plain = matrices_of(*changed_head{[](auto&) {}}.open());
  const changed_head aliased{[](loose_tensors& t) {
    rename(t, {"encoder.fc.weight", "fc.weight"});
    rename(t, {"encoder.output_norm_enc.weight", "hidden_norm.weight"});
  }};
  const changed_head prefixed{[](loose_tensors& t) {
    loose_tensors renamed;
    for (auto& [name, tensor] : t) renamed["model." + name] = std::move(tensor);
    t = std::move(renamed);
  }};
  const changed_head fused{fuse};
  for (const auto* head : {&aliased, &prefixed, &fused}) {
    const auto c = head->open();
    BOOST_REQUIRE_MESSAGE(c, (c ? "" : c.error().text));
    BOOST_TEST((matrices_of(*c) == plain));
  }
}

BOOST_AUTO_TEST_CASE(b72_a_head_with_a_missing_tensor_does_not_load) {
  const auto all = tensors_of("tiny-head");
  for (const auto& [name, t] : all) {
    const changed_head head{[&, missing = name](loose_tensors& to) { to.erase(missing); }};
    const auto sentence = head.refusal();
    BOOST_TEST(sentence.starts_with("The draft head's model.safetensors: Tensor " + name),
               sentence);
    BOOST_TEST(sentence.ends_with("is missing."), sentence);
  }
}

BOOST_AUTO_TEST_CASE(tensors_that_do_not_belong_or_fit_are_refused) {
  const changed_head more{[](loose_tensors& t) { t["markov_w1.weight"] = t.at("norm.weight"); }};
  BOOST_TEST(more.refusal().find("markov_w1.weight [192] is not part of a DFlash head") !=
             std::string::npos);
  const changed_head twice{[](loose_tensors& t) { t["fc.weight"] = t.at("encoder.fc.weight"); }};
  BOOST_TEST(twice.refusal().find("fc.weight [192, 576] is not part") != std::string::npos);
  const changed_head turned{[](loose_tensors& t) { t.at("encoder.fc.weight").shape = {576, 192}; }};
  BOOST_TEST(turned.refusal().find("has shape [576, 192] where config.json asks for [192, 576]") !=
             std::string::npos);
  const changed_head short_fused{[](loose_tensors& t) {
    join(t, {"layers.0.mlp.gate_proj.weight"}, "layers.0.mlp.gate_up_proj.weight");
    t.erase("layers.0.mlp.up_proj.weight");
  }};
  BOOST_TEST(short_fused.refusal().find("gate_up_proj.weight has shape [320, 192]") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_folder_that_training_writes_is_a_head_of_its_target) {
  // tools/nano/draft.py: `config`, and `Head`'s parameters under their names.
  const std::string config = R"({
  "architectures": ["MuseGlimmerAssistantModel"],
  "model_type": "muse_glimmer_assistant",
  "dtype": "bfloat16", "hidden_size": 192, "intermediate_size": 576,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
  "hidden_act": "silu", "rms_norm_eps": 1e-05, "attention_dropout": 0,
  "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
  "max_position_embeddings": 8192, "sliding_window": 128,
  "layer_types": ["sliding_attention", "sliding_attention"],
  "block_size": 16, "mask_token_id": 2020, "target_layer_ids": [1, 3, 5],
  "bos_token_id": 1920, "eos_token_id": 1921, "pad_token_id": 1938
})";
  std::vector<expected_tensor> tensors{{"encoder.fc.weight", {192, 576}},
                                       {"encoder.output_norm_enc.weight", {192}},
                                       {"norm.weight", {192}}};
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    for (const std::string norm : {"input_layernorm", "post_attention_layernorm"}) {
      tensors.push_back({layer + norm + ".weight", {192}});
    }
    for (const std::string norm : {"q_norm", "k_norm"}) {
      tensors.push_back({layer + "self_attn." + norm + ".weight", {32}});
    }
    tensors.push_back({layer + "self_attn.q_proj.weight", {128, 192}});
    tensors.push_back({layer + "self_attn.o_proj.weight", {192, 128}});
    tensors.push_back({layer + "self_attn.k_proj.weight", {64, 192}});
    tensors.push_back({layer + "self_attn.v_proj.weight", {64, 192}});
    tensors.push_back({layer + "mlp.gate_proj.weight", {576, 192}});
    tensors.push_back({layer + "mlp.up_proj.weight", {576, 192}});
    tensors.push_back({layer + "mlp.down_proj.weight", {192, 576}});
  }
  const temporary_folder folder;
  BOOST_REQUIRE(write_plain_checkpoint(folder.path() / "assistant", config, tensors));
  auto target = tiny();
  target.vocab_size = 2048;
  const auto c = open_draft_checkpoint(folder.path() / "assistant", target);
  BOOST_REQUIRE_MESSAGE(c, (c ? "" : c.error().text));
  BOOST_TEST(c->config.keys_seen() == 129);
  BOOST_TEST(c->parameters == 922'880u);
}

BOOST_AUTO_TEST_CASE(a_head_for_another_target_is_refused_before_its_tensors_are_read) {
  auto other = tiny();
  other.hidden_size = 256;
  const auto c = open_draft_checkpoint(synthetic_head_folder("tiny-head"), other);
  BOOST_REQUIRE(!c);
  BOOST_TEST(c.error().text.find("hidden_size is 192 and the target's is 256") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(weights_reach_the_device_unless_one_is_not_finite) {
  const auto device = make_cpu_device({.threads = 1});
  const auto whole = changed_head{[](auto&) {}}.open();
  BOOST_REQUIRE(whole);
  const auto loaded = load_draft_weights(*device, *whole);
  BOOST_REQUIRE(loaded);
  BOOST_TEST(loaded->layers.size() == 2u);
  BOOST_TEST(loaded->fc.in == 576);
  BOOST_TEST(loaded->memory.bytes() <= draft_weight_bytes(*device, *whole));

  for (const std::string name :
       {"layers.1.mlp.up_proj.weight", "layers.0.self_attn.q_norm.weight"}) {
    const changed_head broken{[&](loose_tensors& t) {
      t.at(name).bytes.replace(6, 2, std::string{"\x80\x7F", 2});  // an infinity, element 3
    }};
    const auto c = broken.open();
    BOOST_REQUIRE(c);
    const auto refused = load_draft_weights(*device, *c);
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().text == "The draft head's model.safetensors: Element 3 of tensor " +
                                           name + " is not a finite number.");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
