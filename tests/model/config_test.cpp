#include "model/config.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/model/temporary_folder.hpp"
#include "tools/make_checkpoint/recipe.hpp"

namespace glimmer {
namespace {

std::string with_text(const std::string& fields) {
  return R"({"model_type":"muse_glimmer","text_config":{)" + fields + "}}";
}

/// The sentence of a refusal, or nothing when the text is accepted.
std::string refusal(const std::string& text) {
  const auto parsed = parse_model_config(text);
  return parsed ? "" : parsed.error().text;
}

bool refuses(const std::string& text, std::string_view words) {
  const auto sentence = refusal(text);
  BOOST_TEST_INFO(sentence);
  return sentence.starts_with("config.json: ") && sentence.find(words) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(config_test)

BOOST_AUTO_TEST_CASE(absent_fields_take_the_values_of_the_release) {
  const auto config = parse_model_config("{}");
  BOOST_REQUIRE(config);
  const auto& t = config->text;
  BOOST_TEST(t.vocab_size == 202'048);
  BOOST_TEST(t.layers == 52);
  BOOST_TEST(t.query_width() == 4096);
  BOOST_TEST(t.kv_width() == 256);
  BOOST_TEST(t.window == 2048);
  BOOST_TEST(t.post_norm_eps == 1e-8f);
  BOOST_TEST(t.qk_scale == 3.87f);
  BOOST_TEST(t.layers_in(kv_group::full) == 13);
  BOOST_TEST(t.layers_in(kv_group::sliding) == 39);
  BOOST_TEST((t.layer_groups.front() == kv_group::sliding));
  BOOST_TEST((t.layer_groups.back() == kv_group::full));
  BOOST_TEST(!config->vision.has_value());
  BOOST_TEST(config->image_token == 200'092);
}

BOOST_AUTO_TEST_CASE(full_layers_are_counted_from_the_last) {
  const auto config = parse_model_config(with_text(R"("num_hidden_layers":7)"));
  BOOST_REQUIRE(config);
  for (std::size_t i = 0; i < 7; ++i) {
    const bool full = i == 2 || i == 6;
    BOOST_TEST((config->text.layer_groups[i] == kv_group::full) == full);
    BOOST_TEST((config->text.layer_rotates[i] == 0) == full);
  }
}

BOOST_AUTO_TEST_CASE(mask_and_rotation_are_read_as_two_lists) {
  const auto config = parse_model_config(
      with_text(R"("num_hidden_layers":3,"layer_types":["full_attention","sliding_attention",)"
                R"("sliding_attention"],"layer_rope_theta":[500000,null,0.0])"));
  BOOST_REQUIRE(config);
  BOOST_TEST((config->text.layer_groups[0] == kv_group::full));
  BOOST_TEST((config->text.layer_groups[1] == kv_group::sliding));
  BOOST_TEST(config->text.layer_rotates == (std::vector<std::uint8_t>{1, 0, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_recipe_reads_back_as_it_was_written) {
  for (const auto& name : recipe_names()) {
    const auto recipe = find_recipe(name);
    BOOST_REQUIRE(recipe);
    const auto config = parse_model_config(config_json(*recipe));
    BOOST_REQUIRE_MESSAGE(config, name << ": " << (config ? "" : config.error().text));
    BOOST_TEST((config->text.layer_groups == recipe->config.text.layer_groups));
    BOOST_TEST(config->text.hidden_size == recipe->config.text.hidden_size);
    BOOST_TEST(config->text.output_multiplier == recipe->config.text.output_multiplier);
    BOOST_TEST(config->vision.has_value() == recipe->config.vision.has_value());
    BOOST_TEST(config->bos_token == recipe->special_base);
  }
}

BOOST_AUTO_TEST_CASE(end_tokens_come_as_a_number_or_a_list) {
  const auto one = parse_model_config(with_text(R"("eos_token_id":7)"));
  const auto many = parse_model_config(with_text(R"("eos_token_id":[7,9])"));
  BOOST_REQUIRE(one);
  BOOST_REQUIRE(many);
  BOOST_TEST(end_tokens(*one, {}) == std::vector<token_id>{7}, boost::test_tools::per_element());
  BOOST_TEST(end_tokens(*many, {}) == (std::vector<token_id>{7, 9}),
             boost::test_tools::per_element());
  generation_defaults defaults;
  defaults.eos_tokens = {3};
  BOOST_TEST(end_tokens(*one, defaults) == std::vector<token_id>{3},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(mechanisms_that_are_not_built_are_refused_by_name) {
  BOOST_TEST(refuses(R"({"model_type":"llama"})", "model_type is \"llama\""));
  BOOST_TEST(refuses(with_text(R"("hidden_activation":"gelu")"), "hidden_activation is \"gelu\""));
  BOOST_TEST(refuses(with_text(R"("attention_bias":true)"), "attention_bias must be false"));
  BOOST_TEST(refuses(with_text(R"("tie_word_embeddings":true)"), "tie_word_embeddings"));
  for (const std::string kind : {"yarn", "linear", "dynamic", "longrope"}) {
    BOOST_TEST(
        refuses(with_text(R"("rope_parameters":{"rope_theta":500000,"rope_type":")" + kind + "\"}"),
                "rope_type is \"" + kind + "\""));
    BOOST_TEST(refuses(with_text(R"("rope_scaling":{"type":")" + kind + "\"}"), kind));
  }
}

BOOST_AUTO_TEST_CASE(a_layer_theta_other_than_the_global_one_is_refused) {
  BOOST_TEST(refuses(with_text(R"("num_hidden_layers":2,"layer_rope_theta":[10000.0,0])"),
                     "layer_rope_theta holds 10000"));
  BOOST_TEST(refuses(with_text(R"("num_hidden_layers":2,"layer_rope_theta":[0])"),
                     "num_hidden_layers = 2"));
  BOOST_TEST(refusal(with_text(R"("num_hidden_layers":2,"layer_rope_theta":[10000.0,0],)"
                               R"("rope_parameters":{"rope_theta":10000})")) == "");
}

BOOST_AUTO_TEST_CASE(impossible_values_are_refused_with_the_field_named) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("hidden_size":0)", "hidden_size must be a whole number from 1"},
      {R"("hidden_size":-192)", "hidden_size"},
      {R"("hidden_size":1e3)", "hidden_size"},
      {R"("hidden_size":"192")", "hidden_size"},
      {R"("hidden_size":99999999999999999999)", "hidden_size"},
      {R"("hidden_size":2147483647)", "above the limit"},
      {R"("num_hidden_layers":1025)", "above the limit of 1024"},
      {R"("num_attention_heads":7)", "num_attention_heads 7 is not a multiple"},
      {R"("head_dim":15)", "head_dim 15 is odd"},
      {R"("rms_norm_eps":0)", "rms_norm_eps must be a number above 0"},
      {R"("rms_norm_eps":"x")", "rms_norm_eps"},
      {R"("final_logit_softcapping":-20)", "final_logit_softcapping"},
      {R"("num_hidden_layers":1,"layer_types":["linear_attention"])", "layer_types may hold"},
      {R"("num_hidden_layers":2,"layer_types":["full_attention"])", "list of num_hidden_layers"},
      {R"("eos_token_id":-1)", "eos_token_id"},
      {R"("rope_parameters":7)", "rope_parameters must be an object"},
  };
  for (const auto& [fields, words] : cases) BOOST_TEST(refuses(with_text(fields), words));
  BOOST_TEST(refuses("[]", "not a JSON object"));
  BOOST_TEST(refuses("{", ""));
  BOOST_TEST(refuses(R"({"text_config":[]})", "text_config must be an object"));
}

BOOST_AUTO_TEST_CASE(a_vision_tower_must_fit_its_projector) {
  BOOST_TEST(refuses(R"({"out_hidden_size":100,"vision_config":{}})", "out_hidden_size 100"));
  const auto config = parse_model_config(R"({"vision_config":{}})");
  BOOST_REQUIRE(config);
  BOOST_TEST(config->vision->merged_width == 6144);
}

BOOST_AUTO_TEST_CASE(generation_settings_become_defaults) {
  const auto g = parse_generation_defaults(
      R"({"bos_token_id":1,"eos_token_id":[2,3],"temperature":0.0,"top_p":0.95,"top_k":64,"x":1})");
  BOOST_REQUIRE(g);
  BOOST_TEST(*g->temperature == 0.0f);
  BOOST_TEST(*g->top_p == 0.95f);
  BOOST_TEST(*g->top_k == 64);
  BOOST_TEST(!g->min_p.has_value());
  BOOST_TEST(g->eos_tokens.size() == 2u);
  const auto wrong = parse_generation_defaults(R"({"top_p":1.5})");
  BOOST_REQUIRE(!wrong);
  BOOST_TEST(wrong.error().text ==
             "generation_config.json: top_p must be a number above 0 and at most 1.");
}

BOOST_AUTO_TEST_CASE(an_absent_generation_config_gives_no_defaults) {
  const temporary_folder folder;
  const auto g = read_generation_defaults(folder.path());
  BOOST_REQUIRE(g);
  BOOST_TEST(!g->temperature.has_value());
  const auto config = read_model_config(folder.path());
  BOOST_REQUIRE(!config);
  BOOST_TEST(config.error().text == "config.json: The file cannot be read.");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
