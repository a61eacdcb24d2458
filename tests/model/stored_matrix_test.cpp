#include "model/stored_matrix.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/model/golden.hpp"
#include "tests/model/temporary_folder.hpp"

namespace glimmer {
namespace {

/// One array of tests/golden/formats.
struct fixture_array {
  std::vector<std::int64_t> shape;
  std::string bytes;

  std::vector<float> floats() const {
    std::vector<float> out(bytes.size() / 4);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
};

fixture_array fixture(const char* name, std::string_view array) {
  const auto folder = std::filesystem::path{GLIMMER_SOURCE_ROOT} / "tests/golden";
  const auto about = json::parse(read_text(folder / "formats.json"));
  BOOST_REQUIRE(about);
  const auto found = about->find("cases")->find(name)->find(array);
  BOOST_REQUIRE(found);
  fixture_array out;
  const auto type = found->find("type")->string();
  std::size_t size = type == "f32" ? 4 : type == "bf16" ? 2 : 1;
  for (const auto& extent : found->find("shape")->elements()) {
    out.shape.push_back(*extent.integer());
    size *= static_cast<std::size_t>(out.shape.back());
  }
  const auto offset = static_cast<std::size_t>(*found->find("offset")->integer());
  out.bytes = read_text(folder / "formats.bin").substr(offset, size);
  return out;
}

stored_tensor stored(const fixture_array& a, const char* type) {
  return {.name = "t", .type = type, .shape = a.shape, .data = std::as_bytes(std::span{a.bytes})};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
}

void expect_fp8(const char* name, weight_scheme scheme, const char* scale_type) {
  const auto values = fixture(name, "values");
  const auto scales = fixture(name, "scales");
  const auto weight = stored(values, "F8_E4M3");
  const auto scale = stored(scales, scale_type);
  const stored_matrix m{.module = name,
                        .extent = {values.shape[0], values.shape[1]},
                        .scheme = scheme,
                        .values = &weight,
                        .scales = &scale};
  BOOST_TEST(same_bits(dequantised(m), fixture(name, "expected").floats()), name);
}

void expect_nvfp4(const char* name, weight_scheme scheme) {
  const auto values = fixture(name, "values");
  const auto scales = fixture(name, "scales");
  const auto factors = fixture(name, "factor");
  const auto weight = stored(values, "U8");
  const auto scale = stored(scales, "F8_E4M3");
  const auto factor = stored(factors, "F32");
  const stored_matrix m{.module = name,
                        .extent = {values.shape[0], 2 * values.shape[1]},
                        .scheme = scheme,
                        .values = &weight,
                        .scales = &scale,
                        .factor = &factor};
  BOOST_TEST(same_bits(dequantised(m), fixture(name, "expected").floats()), name);
}

/// A tensor to be written, filled with one byte.
struct made_tensor {
  std::string name;
  std::string type;
  std::vector<std::int64_t> shape;
  unsigned char fill = 0x38;
};

std::string safetensors_of(const std::vector<made_tensor>& tensors) {
  std::string header;
  std::string data;
  json_writer w{header};
  w.begin_object();
  for (const auto& t : tensors) {
    std::size_t size = t.type == "F32" ? 4 : t.type == "BF16" ? 2 : 1;
    w.key(t.name).begin_object().key("dtype").string(t.type).key("shape").begin_array();
    for (const auto extent : t.shape) {
      w.integer(extent);
      size *= static_cast<std::size_t>(extent);
    }
    w.end_array().key("data_offsets").begin_array().unsigned_integer(data.size());
    data.append(size, static_cast<char>(t.fill));
    w.unsigned_integer(data.size()).end_array().end_object();
  }
  w.end_object();
  std::string length;
  for (int byte = 0; byte < 8; ++byte) {
    length += static_cast<char>(header.size() >> (8 * byte) & 0xFF);
  }
  return length + header + data;
}

constexpr const char* fp8_config =
    R"({"quant_method":"fp8","weight_block_size":[128,128],"activation_scheme":"dynamic"})";
constexpr const char* fp8_tensor_config = R"({"quant_method":"fp8","activation_scheme":"static"})";
constexpr const char* nvfp4_config =
    R"({"quant_method":"modelopt","quant_algo":"W4A16_NVFP4","group_size":16})";

/// What becomes of a module "m" [192, 144] that is stored so: its scheme, or the refusal.
std::string outcome(const std::vector<made_tensor>& tensors, const char* config) {
  const temporary_folder folder;
  folder.write("model.safetensors", safetensors_of(tensors));
  const auto files = tensor_files::open(folder.path());
  BOOST_REQUIRE_MESSAGE(files, (files ? "" : files.error().text));
  quantization_config declared;
  if (config != nullptr) declared = *quantization_config::parse(*json::parse(config));
  const auto found = find_matrix(*files, declared, {"m", {192, 144}});
  if (!found) return found.error().text;
  const auto right = check_values(*files, *found);
  return right ? std::string{to_string(found->scheme)} : right.error().text;
}

void expect_part(const std::string& text, std::string_view part) {
  BOOST_TEST(text.find(part) != std::string::npos, text);
}

const made_tensor fp8_weight{"m.weight", "F8_E4M3", {192, 144}};
const made_tensor fp4_weight{"m.weight", "U8", {192, 72}};
const made_tensor fp4_scale{"m.weight_scale", "F8_E4M3", {192, 9}};
const made_tensor fp4_factor{"m.weight_scale_2", "F32", {}};

}  // namespace

BOOST_AUTO_TEST_SUITE(stored_matrix_test)

BOOST_AUTO_TEST_CASE(weights_are_widened_as_an_independent_implementation_widens_them) {
  expect_fp8("fp8_block", weight_scheme::fp8_block, "BF16");
  expect_fp8("fp8_block_f32", weight_scheme::fp8_block, "F32");
  expect_fp8("fp8_tensor", weight_scheme::fp8_tensor, "F32");
  expect_nvfp4("nvfp4", weight_scheme::nvfp4);
  expect_nvfp4("nvfp4_packed", weight_scheme::nvfp4_packed);
}

BOOST_AUTO_TEST_CASE(the_tensors_that_are_there_say_the_scheme) {
  BOOST_TEST(outcome({{"m.weight", "BF16", {192, 144}}}, nullptr) == "plain");
  BOOST_TEST(outcome({fp8_weight, {"m.weight_scale", "BF16", {2, 2}}}, fp8_config) ==
             "FP8 in blocks");
  BOOST_TEST(outcome({fp8_weight, {"m.weight_scale_inv", "F32", {2, 2}}}, fp8_config) ==
             "FP8 in blocks");
  BOOST_TEST(outcome({fp8_weight, {"m.weight_scale", "F32", {}}, {"m.input_scale", "F32", {1}}},
                     fp8_tensor_config) == "FP8 with one scale");
  BOOST_TEST(outcome({fp4_weight, fp4_scale, fp4_factor}, nvfp4_config) == "NVFP4");
}

BOOST_AUTO_TEST_CASE(an_unknown_scheme_is_refused_by_its_module) {
  expect_part(outcome({{"m.weight", "I8", {192, 144}}}, nullptr),
              "Module m is stored in no known format: its weight has type I8");
  expect_part(outcome({fp8_weight}, fp8_config), "Module m is stored in no known format");
  expect_part(outcome({fp4_weight, fp4_scale}, nvfp4_config), "no known format");
}

BOOST_AUTO_TEST_CASE(files_and_configuration_must_agree) {
  expect_part(outcome({{"m.weight", "BF16", {192, 144}}}, fp8_config),
              "Module m is stored as plain, and quantization_config declares it FP8 in blocks.");
  expect_part(outcome({fp4_weight, fp4_scale, fp4_factor}, nullptr),
              "Module m is stored as NVFP4, and quantization_config is absent.");
  expect_part(outcome({fp8_weight, {"m.weight_scale", "F32", {}}}, fp8_config),
              "stored as FP8 with one scale");
}

BOOST_AUTO_TEST_CASE(types_and_shapes_are_strict) {
  expect_part(outcome({fp8_weight, {"m.weight_scale", "BF16", {1, 2}}}, fp8_config),
              "m.weight_scale has shape [1, 2] where config.json asks for [2, 2]");
  expect_part(outcome({fp8_weight, {"m.weight_scale", "U8", {2, 2}}}, fp8_config),
              "m.weight_scale has type U8 where BF16 belongs");
  expect_part(
      outcome({fp4_weight, {"m.weight_scale", "F8_E4M3", {192, 8}}, fp4_factor}, nvfp4_config),
      "[192, 8] where config.json asks for [192, 9]");
  expect_part(outcome({fp8_weight, {"m.weight_scale", "F32", {}}}, fp8_tensor_config),
              "Tensor m.input_scale [] is missing");
  expect_part(outcome({fp4_weight, fp4_scale, {"m.weight_scale_2", "F32", {2}}}, nvfp4_config),
              "m.weight_scale_2 has shape [2]");
}

BOOST_AUTO_TEST_CASE(scales_are_positive_and_finite_and_codes_are_numbers) {
  auto nan = fp8_weight;
  nan.fill = 0xFF;
  expect_part(outcome({nan, {"m.weight_scale", "BF16", {2, 2}}}, fp8_config),
              "Element 0 of tensor m.weight is NaN");
  for (const unsigned char fill : {0x00, 0xFF, 0x80}) {
    expect_part(outcome({fp8_weight, {"m.weight_scale", "BF16", {2, 2}, fill}}, fp8_config),
                "scales are positive and finite");
  }
  for (const unsigned char fill : {0x00, 0x7F, 0xB8}) {
    auto scale = fp4_scale;
    scale.fill = fill;
    expect_part(outcome({fp4_weight, scale, fp4_factor}, nvfp4_config), "Scale 0 of tensor");
  }
  auto factor = fp4_factor;
  factor.fill = 0;
  expect_part(outcome({fp4_weight, fp4_scale, factor}, nvfp4_config),
              "Scale 0 of tensor m.weight_scale_2 is 0.000000");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace glimmer
