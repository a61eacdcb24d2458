#include "model/checkpoint.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/model/golden.hpp"
#include "tests/model/temporary_folder.hpp"
#include "tools/make_checkpoint/checkpoint_writer.hpp"

namespace glimmer {
namespace {

/// Puts one text in the place of another; of the same length inside a header.
struct edit {
  std::string from;
  std::string to;
};

/// What is said to a copy of tiny with one edit in one file.
std::string refusal_after(const std::string& file, const edit& e) {
  const temporary_folder folder;
  std::filesystem::copy(synthetic_folder("tiny"), folder.path(),
                        std::filesystem::copy_options::recursive);
  auto text = read_text(folder.path() / file);
  const auto at = text.find(e.from);
  BOOST_REQUIRE(at != std::string::npos);
  text.replace(at, e.from.size(), e.to);
  folder.write(file, text);
  const auto opened = open_checkpoint(folder.path());
  return opened ? "accepted" : opened.error().text;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(checkpoint_test)

BOOST_AUTO_TEST_CASE(the_release_has_its_published_tensors_and_parameters) {
  auto config = parse_model_config(R"({"vision_config":{}})");
  BOOST_REQUIRE(config);
  const auto tensors = expected_tensors(*config);
  BOOST_TEST(tensors.size() == 1436u);
  std::uint64_t parameters = 0;
  for (const auto& t : tensors) {
    std::uint64_t count = 1;
    for (const auto extent : t.shape) count *= static_cast<std::uint64_t>(extent);
    parameters += count;
  }
  BOOST_TEST(parameters == 29'776'626'688u);
}

BOOST_AUTO_TEST_CASE(the_synthetic_models_have_their_parameters) {
  const auto& tiny = synthetic_checkpoint("tiny");
  BOOST_TEST(tiny.text_parameters == 3'741'888u);
  BOOST_TEST(tiny.vision_parameters == 278'256u + 65'536u);
  BOOST_REQUIRE(tiny.notes.size() == 1u);
  BOOST_TEST(tiny.notes[0].find("not loaded") != std::string::npos);
  const auto& kernel = synthetic_checkpoint("tiny-kernel");
  BOOST_TEST(kernel.text_parameters + kernel.vision_parameters == 17'083'104u);
  BOOST_TEST(*tiny.defaults.top_k == 64);
  BOOST_TEST(end_tokens(tiny.config, tiny.defaults) == (std::vector<token_id>{897, 904}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shards_hold_the_same_weights_as_one_file) {
  const temporary_folder folder;
  const auto recipe = find_recipe("tiny");
  BOOST_REQUIRE(recipe);
  BOOST_REQUIRE(write_checkpoint(*recipe, folder.path(), {.shards = 3}));
  const auto sharded = open_checkpoint(folder.path());
  BOOST_REQUIRE_MESSAGE(sharded, (sharded ? "" : sharded.error().text));
  BOOST_TEST(sharded->files.file_names().size() == 3u);
  const auto& single = synthetic_checkpoint("tiny").files;
  BOOST_TEST(sharded->files.data_bytes() == single.data_bytes());
  for (const auto& t : single.tensors()) {
    const auto* other = sharded->files.find(t.name);
    BOOST_REQUIRE(other != nullptr);
    BOOST_TEST(std::equal(t.data.begin(), t.data.end(), other->data.begin(), other->data.end()));
  }
}

BOOST_AUTO_TEST_CASE(a_missing_tensor_is_named_with_its_shape) {
  BOOST_TEST(refusal_after("model.safetensors", {"lm_head.weight", "lm_haed.weight"}) ==
             "model.safetensors: Tensor lm_head.weight [1024, 192] is missing.");
}

BOOST_AUTO_TEST_CASE(a_wrong_shape_is_shown_beside_the_right_one) {
  BOOST_TEST(
      refusal_after("config.json", {"\"intermediate_size\":576", "\"intermediate_size\":575"}) ==
      "model.safetensors: Tensor model.language_model.layers.0.mlp.gate_proj.weight has "
      "shape [576, 192] where config.json asks for [575, 192].");
}

BOOST_AUTO_TEST_CASE(a_tensor_too_many_is_refused) {
  BOOST_TEST(refusal_after("config.json", {"\"vision_config\"", "\"vision_c0nfig\""})
                 .find("is not part of a model of this configuration") != std::string::npos);
  BOOST_TEST(refusal_after("config.json", {"\"num_hidden_layers\":6", "\"num_hidden_layers\":5"})
                 .find("layers.5.norm1.weight [48] is not part") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(unknown_quantisation_is_refused) {
  const auto method =
      refusal_after("config.json",
                    {"\"dtype\":\"bfloat16\"", R"("quantization_config":{"quant_method":"gptq"})"});
  BOOST_TEST(method.find("\"gptq\"") != std::string::npos);
  BOOST_TEST(method.starts_with("config.json: "));
  const auto undeclared = refusal_after(
      "config.json",
      {"\"dtype\":\"bfloat16\"",
       R"("quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]})"});
  BOOST_TEST(undeclared ==
             "config.json: Module model.language_model.layers.0.self_attn.q_proj is stored as "
             "plain, and quantization_config declares it FP8 in blocks.");
}

BOOST_AUTO_TEST_CASE(quantised_models_are_opened_and_say_what_they_hold) {
  const std::string rounded = "; activations of NVFP4 are rounded to 8 bits.";
  for (const auto& [model, note] :
       {std::pair{"tiny-fp8",
                  std::string{"Matrices: 10 plain, 55 FP8 in blocks; activations are not "
                              "quantised."}},
        {"tiny-nvfp4", "Matrices: 16 plain, 49 NVFP4" + rounded},
        {"tiny-mixed", "Matrices: 8 plain, 23 FP8 with one scale, 34 NVFP4" + rounded},
        {"tiny-ct-nvfp4", "Matrices: 2 plain, 63 packed NVFP4" + rounded}}) {
    const auto& c = synthetic_checkpoint(model);
    BOOST_TEST(c.text_parameters == 3'741'888u);
    BOOST_TEST(c.notes[0] == note);
  }
}

BOOST_AUTO_TEST_CASE(scales_may_lie_in_another_shard_than_their_weights) {
  const temporary_folder folder;
  BOOST_REQUIRE(write_checkpoint(*find_recipe("tiny-mixed"), folder.path(), {.shards = 3}));
  const auto sharded = open_checkpoint(folder.path());
  BOOST_REQUIRE_MESSAGE(sharded, (sharded ? "" : sharded.error().text));
  int apart = 0;
  for (const auto& [module, m] : sharded->matrices) {
    const auto& whole = synthetic_checkpoint("tiny-mixed").matrices.at(module);
    BOOST_TEST((dequantised(m) == dequantised(whole)), module);
    apart += m.scales != nullptr && m.scales->file != m.values->file;
  }
  BOOST_TEST(apart > 10);
}

BOOST_AUTO_TEST_CASE(norms_that_carry_their_one_already_are_refused) {
  const temporary_folder folder;
  std::filesystem::copy(synthetic_folder("tiny"), folder.path(),
                        std::filesystem::copy_options::recursive);
  auto file = read_text(folder.path() / "model.safetensors");
  const auto& source = synthetic_checkpoint("tiny").files;
  const auto data = file.size() - source.data_bytes();
  for (const auto& t : source.tensors()) {
    if (!t.name.starts_with("model.language_model.layers.") || t.shape.size() != 1) continue;
    const auto at =
        data + static_cast<std::size_t>(t.data.data() - source.tensors()[0].data.data());
    for (std::size_t i = 0; i < t.data.size(); i += 2) file.replace(at + i, 2, "\x80\x3F");
  }
  folder.write("model.safetensors", file);
  const auto opened = open_checkpoint(folder.path());
  BOOST_REQUIRE(!opened);
  BOOST_TEST(opened.error().text.find("1 seems to have been added") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_folder_stands_for_itself) {
  const temporary_folder folder;
  folder.write("config.json", "{}");
  const auto found = resolve_model(folder.path().string(), "/nowhere");
  BOOST_REQUIRE(found);
  BOOST_TEST(found->string() == folder.path().string());
}

BOOST_AUTO_TEST_CASE(a_folder_without_a_checkpoint_is_refused_by_its_name) {
  const temporary_folder folder;
  const auto found = resolve_model(folder.path().string(), "/nowhere");
  BOOST_REQUIRE(!found);
  BOOST_TEST(found.error().text == "The folder \"" + folder.path().string() +
                                       "\" holds no config.json; a checkpoint folder as "
                                       "published is needed.");
}

BOOST_AUTO_TEST_CASE(a_hub_id_is_found_through_its_main_branch) {
  const temporary_folder cache;
  cache.write("models--meta-models--Muse/refs/main", "abc123\n");
  cache.write("models--meta-models--Muse/snapshots/abc123/config.json", "{}");
  const auto found = resolve_model("meta-models/Muse", cache.path());
  BOOST_REQUIRE(found);
  BOOST_TEST(found->filename().string() == "abc123");
}

BOOST_AUTO_TEST_CASE(names_that_lead_nowhere_are_refused) {
  const temporary_folder cache;
  cache.write("models--a--b/refs/main", "../../..");
  cache.write("models--a--c/refs/main", "gone");
  for (const auto* name : {"a/b", "a/c", "a/d"}) {
    const auto found = resolve_model(name, cache.path());
    BOOST_REQUIRE(!found);
    BOOST_TEST(found.error().text.find("nothing is downloaded") != std::string::npos);
  }
  for (const auto* name : {"", "tiny", "a/b/c", "../x", "/nowhere/at/all", "a/", "/a"}) {
    const auto found = resolve_model(name, cache.path());
    BOOST_REQUIRE(!found);
    BOOST_TEST(found.error().text.find("neither a folder nor a hub id") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
