#include "model/quantization.hpp"

#include <boost/test/unit_test.hpp>

namespace glimmer {
namespace {

result<quantization_config> parsed(std::string_view text) {
  const auto value = json::parse(text);
  BOOST_REQUIRE(value);
  return quantization_config::parse(*value);
}

std::string refusal(std::string_view text) {
  const auto config = parsed(text);
  return config ? "accepted" : config.error().text;
}

void expect(const quantization_config& config, std::string_view module,
            const declared_weight& weight) {
  const auto found = config.of(module);
  BOOST_REQUIRE(found);
  BOOST_TEST((*found == weight), module << " is " << to_string(found->scheme));
}

constexpr std::string_view fp8_block = R"({"quant_method":"compressed-tensors",
  "format":"float-quantized","ignore":["re:.*vision.*","lm_head","re:.*embed_tokens.*"],
  "config_groups":{"FP8_BLOCK":{"targets":["Linear"],
    "weights":{"num_bits":8,"type":"float","strategy":"block","block_structure":[128,128]},
    "input_activations":{"num_bits":8,"type":"float","strategy":"group","group_size":128,
      "dynamic":true}}}})";

constexpr std::string_view packed = R"({"quant_method":"compressed-tensors",
  "format":"nvfp4-pack-quantized","ignore":["lm_head"],
  "config_groups":{"group_0":{"targets":["Linear"],
    "weights":{"num_bits":4,"type":"float","strategy":"tensor_group","group_size":16},
    "input_activations":{"num_bits":4,"type":"float","dynamic":"local"}}}})";

constexpr std::string_view mixed = R"({"quant_method":"modelopt","quant_algo":"MIXED_PRECISION",
  "ignore":[],"quantized_layers":{
    "lm_head":{"quant_algo":"W4A16_NVFP4","group_size":16},
    "a.layers.1.mlp.up_proj":{"quant_algo":"FP8"},
    "a.layers.2.mlp.up_proj":{"quant_algo":"NVFP4","group_size":16}}})";

}  // namespace

BOOST_AUTO_TEST_SUITE(quantization_test)

BOOST_AUTO_TEST_CASE(without_a_configuration_every_module_is_plain) {
  expect(quantization_config{}, "lm_head", {});
  BOOST_TEST(quantization_config{}.method().empty());
}

BOOST_AUTO_TEST_CASE(fp8_in_blocks_is_read_with_its_ignored_modules) {
  const auto config = parsed(fp8_block);
  BOOST_REQUIRE(config);
  BOOST_TEST(config->method() == "compressed-tensors");
  expect(*config, "model.language_model.layers.3.self_attn.gate_proj",
         {weight_scheme::fp8_block, false});
  expect(*config, "lm_head", {});
  expect(*config, "model.vision_tower.layers.0.mlp.fc1", {});
}

BOOST_AUTO_TEST_CASE(the_other_spelling_of_fp8_in_blocks_is_read) {
  const auto config = parsed(R"({"quant_method":"fp8","activation_scheme":"dynamic",
    "weight_block_size":[128,128],"modules_to_not_convert":["lm_head","model.layers.1"]})");
  BOOST_REQUIRE(config);
  expect(*config, "model.layers.10.mlp.up_proj", {weight_scheme::fp8_block, false});
  expect(*config, "model.layers.1.mlp.up_proj", {});
  expect(*config, "lm_head", {});
}

BOOST_AUTO_TEST_CASE(packed_nvfp4_stores_a_global_scale_of_its_activations) {
  const auto config = parsed(packed);
  BOOST_REQUIRE(config);
  expect(*config, "layers.0.mlp.up_proj", {weight_scheme::nvfp4_packed, true});
  auto weights_alone = std::string{packed};
  const auto at = weights_alone.find("{\"num_bits\":4,\"type\":\"float\",\"dynamic\"");
  weights_alone.replace(at, weights_alone.find('}', at) + 1 - at, "null");
  expect(*parsed(weights_alone), "layers.0.mlp.up_proj", {weight_scheme::nvfp4_packed, false});
}

BOOST_AUTO_TEST_CASE(modelopt_names_one_algorithm_or_one_for_each_layer) {
  const auto whole = parsed(R"({"quant_method":"modelopt","quant_algo":"NVFP4","group_size":16,
    "exclude_modules":["lm_head","*.gate_proj*","a.vision*"]})");
  BOOST_REQUIRE(whole);
  expect(*whole, "a.layers.0.mlp.up_proj", {weight_scheme::nvfp4, true});
  expect(*whole, "a.layers.0.self_attn.gate_proj", {});
  const auto each = parsed(mixed);
  BOOST_REQUIRE(each);
  expect(*each, "lm_head", {weight_scheme::nvfp4, false});
  expect(*each, "a.layers.1.mlp.up_proj", {weight_scheme::fp8_tensor, true});
  expect(*each, "a.layers.2.mlp.up_proj", {weight_scheme::nvfp4, true});
  expect(*each, "a.layers.3.mlp.up_proj", {});
  const auto grouped = parsed(R"({"quant_method":"modelopt","quant_algo":"NVFP4",
    "config_groups":{"group_0":{"targets":["Linear"],"input_activations":null,
    "weights":{"dynamic":false,"num_bits":4,"type":"float","group_size":16}}}})");
  BOOST_REQUIRE(grouped);
  expect(*grouped, "lm_head", {weight_scheme::nvfp4, false});
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_refused) {
  const auto contains = [](const std::string& text, std::string_view part) {
    BOOST_TEST(text.find(part) != std::string::npos, text);
  };
  contains(refusal("[]"), "is not an object");
  contains(refusal(R"({"quant_method":"awq"})"), "the method \"awq\"");
  contains(refusal("{}"), "the method \"\"");
  contains(refusal(R"({"quant_method":"compressed-tensors"})"), "no config_groups");
  contains(refusal(R"({"quant_method":"modelopt","quant_algo":"W8A8_MXFP8"})"), "\"W8A8_MXFP8\"");
  contains(refusal(R"({"quant_method":"modelopt","quant_algo":"NVFP4","group_size":32})"),
           "\"NVFP4\"");
  contains(refusal(R"({"quant_method":"fp8","weight_block_size":[64,128]})"), "[128, 128]");
  contains(refusal(R"({"quant_method":"fp8","ignored_layers":[1]})"), "not of names");
  contains(refusal(R"({"quant_method":"compressed-tensors","config_groups":{"g":{
    "targets":["Linear"],"weights":{"num_bits":4,"type":"int","strategy":"group"}}}})"),
           "4 bits, type \"int\", strategy \"group\"");
}

BOOST_AUTO_TEST_CASE(an_expression_that_cannot_be_read_and_two_claims_are_refused) {
  const auto broken =
      parsed(R"({"quant_method":"fp8","weight_block_size":[128,128],"ignored_layers":["re:("]})");
  BOOST_REQUIRE(broken);
  BOOST_TEST(!broken->of("lm_head"));
  const auto twice = parsed(R"({"quant_method":"compressed-tensors","config_groups":{
    "a":{"targets":["re:.*up.*"],"weights":{"num_bits":8,"type":"float","strategy":"tensor"}},
    "b":{"targets":["Linear"],"weights":{"num_bits":8,"type":"float","strategy":"block",
      "block_structure":[128,128]}}}})");
  BOOST_REQUIRE(twice);
  BOOST_TEST(!twice->of("layers.0.mlp.up_proj"));
  BOOST_TEST(twice->of("layers.0.mlp.down_proj").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
