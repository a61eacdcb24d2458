#include "model/draft_head_config.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace glimmer {
namespace {

/// The published file.
const std::string released = R"({"architectures":["MuseGlimmerAssistantModel"],
  "model_type":"muse_glimmer_assistant","hidden_size":6656,"intermediate_size":19968,
  "num_hidden_layers":5,"num_attention_heads":32,"num_key_value_heads":8,"head_dim":128,
  "hidden_act":"silu","rms_norm_eps":1e-05,"rope_parameters":{"rope_type":"default",
  "rope_theta":500000.0},"max_position_embeddings":131072,"sliding_window":2048,
  "layer_types":["sliding_attention","sliding_attention","sliding_attention",
  "sliding_attention","sliding_attention"],"attention_dropout":0,"block_size":16,
  "mask_token_id":201818,"target_layer_ids":[1,13,25,37,49]})";

struct edit {
  std::string from;
  std::string to;
};

std::string with(std::string text, const edit& e) {
  const auto at = text.find(e.from);
  BOOST_REQUIRE(at != std::string::npos);
  return text.replace(at, e.from.size(), e.to);
}

/// The sentence of a refusal, or nothing when the text is accepted.
std::string refusal(const std::string& text) {
  const auto parsed = parse_draft_head_config(text);
  return parsed ? "" : parsed.error().text;
}

/// What is said of the released file with one edit.
std::string after(const edit& e) {
  return refusal(with(released, e));
}

void says(const std::string& sentence, std::string_view words) {
  BOOST_TEST(sentence.starts_with("The draft head's config.json: "), sentence);
  BOOST_TEST(sentence.find(words) != std::string::npos, sentence);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(draft_head_config_test)

BOOST_AUTO_TEST_CASE(the_released_head_is_read) {
  const auto config = parse_draft_head_config(released);
  BOOST_REQUIRE_MESSAGE(config, refusal(released));
  BOOST_TEST(config->layers == 5);
  BOOST_TEST(config->kv_width() == 1024);
  BOOST_TEST(config->feature_width() == 33'280);
  BOOST_TEST(config->window == 2048);
  BOOST_TEST(config->keys_seen() == 2049);
  BOOST_TEST(config->drafts_max() == 15);
  BOOST_TEST(config->mask_token == 201'818);
  BOOST_TEST(check_pair(*config, parse_model_config("{}")->text).has_value());
}

BOOST_AUTO_TEST_CASE(block_mask_and_taps_may_stand_in_an_object_of_their_own) {
  const auto nested = with(
      with(released, {"MuseGlimmerAssistantModel", "DFlashDraftModel"}),
      {R"("mask_token_id":201818,"target_layer_ids":[1,13,25,37,49])",
       R"("dflash_config":{"mask_token_id":7,"target_layer_ids":[4,2]},"num_target_layers":52)"});
  const auto config = parse_draft_head_config(nested);
  BOOST_REQUIRE_MESSAGE(config, refusal(nested));
  BOOST_TEST(config->mask_token == 7);
  BOOST_TEST(config->taps == (std::vector<std::int64_t>{4, 2}), boost::test_tools::per_element());
  BOOST_TEST(config->block_size == 16);
}

BOOST_AUTO_TEST_CASE(a_field_that_stands_twice_must_say_the_same) {
  const auto twice = [](const char* inner) {
    return refusal(
        with(released,
             {R"("block_size":16)",
              std::string{R"("block_size":16,"dflash_config":{"block_size":)"} + inner + "}"}));
  };
  BOOST_TEST(twice("16") == "");
  says(twice("8"), "block_size is 16, and 8 in dflash_config");
}

BOOST_AUTO_TEST_CASE(what_a_head_cannot_do_without_is_missed) {
  says(after({R"("mask_token_id":201818,)", ""}), "mask_token_id is missing");
  says(after({R"("block_size":16,)", ""}), "block_size is missing");
  says(after({R"("target_layer_ids")", R"("layer_ids")"}), "target_layer_ids is missing");
  says(after({R"("sliding_window":2048,)", ""}), "sliding_window is missing");
}

BOOST_AUTO_TEST_CASE(mechanisms_that_are_not_built_are_refused) {
  says(after({"\"hidden_act\":\"silu\"", "\"hidden_act\":\"gelu\""}), "only \"silu\"");
  says(after({"\"attention_dropout\":0", "\"is_causal\":true"}), "is_causal must be false");
  says(after({"\"attention_dropout\":0", "\"causal\":true"}), "causal must be false");
  says(after({"\"attention_dropout\":0", "\"attention_bias\":true"}), "attention_bias");
  says(after({"\"attention_dropout\":0", "\"use_sliding_window\":false"}),
       "see the whole context are not supported");
  says(after({"[\"sliding_attention\",", "[\"full_attention\","}), "for each of the 5 layers");
  says(after({"[\"sliding_attention\",", "["}), "for each of the 5 layers");
  says(after({"\"default\"", "\"yarn\""}), "only \"default\"");
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_refused) {
  says(after({"\"num_key_value_heads\":8", "\"num_key_value_heads\":5"}), "is not a multiple");
  says(after({"\"head_dim\":128", "\"head_dim\":127"}), "127 is odd");
  says(after({"\"block_size\":16", "\"block_size\":1"}), "from 2");
  says(after({"\"block_size\":16", "\"block_size\":65"}), "65 is above the limit of 64");
  says(after({"[1,13,", "[1,1,"}), "holds 1; allowed are different layer numbers");
  says(after({"[1,13,", "[-1,13,"}), "holds -1");
  says(after({"[1,13,25,37,49]", "[]"}), "a list of 1 to 64 layers");
}

BOOST_AUTO_TEST_CASE(dspark_and_dflash2_heads_are_recognised_and_refused) {
  says(after({"MuseGlimmerAssistantModel", "Qwen3DSparkModel"}), "This is a DSpark head; only");
  says(after({"\"attention_dropout\":0", "\"markov_rank\":256"}), "This is a DSpark head; only");
  says(after({"MuseGlimmerAssistantModel", "DFlash2DraftModel"}), "This is a DFlash2 head; only");
}

BOOST_AUTO_TEST_CASE(other_models_are_no_draft_heads) {
  says(after({"[\"MuseGlimmerAssistantModel\"]", "[\"LlamaForCausalLM\"]"}),
       "say LlamaForCausalLM");
  says(refusal("{}"), "say nothing; a draft head is a MuseGlimmerAssistantModel");
  says(refusal("[]"), "not a JSON object");
}

BOOST_AUTO_TEST_CASE(head_and_target_must_belong_together) {
  const auto head = parse_draft_head_config(released);
  BOOST_REQUIRE(head);
  const auto target = parse_model_config("{}")->text;
  const auto pair = [&](auto&& change) {
    auto h = *head;
    change(h);
    const auto fits = check_pair(h, target);
    return fits ? std::string{} : fits.error().text;
  };
  says(pair([](auto& h) { h.hidden_size = 4096; }), "hidden_size is 4096 and the target's is 6656");
  says(pair([](auto& h) { h.taps.back() = 52; }),
       "up to 52, and the target has the layers 0 to 51");
  says(pair([](auto& h) { h.mask_token = 202'048; }),
       "is 202048, and the target's vocabulary ends");
  says(pair([](auto& h) { h.vocab_size = 151'936; }), "vocab_size is 151936, and the target has");
  says(pair([](auto& h) { h.draft_vocab_size = 32'000; }), "draft_vocab_size is 32000");
  says(pair([](auto& h) { h.target_layers = 36; }),
       "num_target_layers is 36, and the target has 52");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
