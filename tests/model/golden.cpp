#include "tests/model/golden.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "tests/model/temporary_folder.hpp"
#include "tools/make_checkpoint/checkpoint_writer.hpp"
#include "tools/make_checkpoint/head_recipe.hpp"

namespace glimmer {
namespace {

template <class Int>
std::vector<Int> integers(const json& list) {
  std::vector<Int> out;
  for (const auto& item : list.elements()) out.push_back(static_cast<Int>(*item.integer()));
  return out;
}

golden read_golden(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path{GLIMMER_SOURCE_ROOT} / "tests/golden";
  const auto about = json::parse(read_text(folder / (name + ".json")));
  GLIMMER_ASSERT(about.has_value(), "the fixture is there");
  const auto bytes = read_text(folder / (name + ".bin"));
  const auto array = [&](const char* key) {
    return golden_array_of(*about->find("arrays")->find(key), bytes);
  };
  return {.tokens = integers<token_id>(*about->find("tokens")),
          .positions = integers<std::int64_t>(*about->find("positions")),
          .logits_f32 = array("logits_f32"),
          .layers_f32 = array("layers_f32"),
          .layers_bf16 = array("layers_bf16"),
          .logits_bf16 = array("logits_bf16")};
}

}  // namespace

golden_array golden_array_of(const json& about, const std::string& bytes) {
  golden_array out;
  out.shape = integers<std::int64_t>(*about.find("shape"));
  std::int64_t count = 1;
  for (const auto extent : out.shape) count *= extent;
  const bool wide = about.find("type")->string() == "f32";
  const char* at = bytes.data() + *about.find("offset")->integer();
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, wide ? 4 : 2);
    at += wide ? 4 : 2;
    out.values.push_back(std::bit_cast<float>(wide ? bits : bits << 16));
  }
  return out;
}

quantised_golden quantised_golden_of(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path{GLIMMER_SOURCE_ROOT} / "tests/golden";
  const auto about = json::parse(read_text(folder / "formats.json"));
  GLIMMER_ASSERT(about.has_value(), "the fixture is there");
  const auto model = about->find("models")->find(name);
  return {
      .tokens = integers<token_id>(*model->find("tokens")),
      .positions = integers<std::int64_t>(*about->find("positions")),
      .logits_f32 = golden_array_of(*model->find("logits_f32"), read_text(folder / "formats.bin"))};
}

std::span<const float> golden_array::part(std::int64_t index) const {
  const auto size = values.size() / static_cast<std::size_t>(shape[0]);
  return std::span{values}.subspan(static_cast<std::size_t>(index) * size, size);
}

const golden& golden_of(const std::string& name) {
  static std::map<std::string, golden> read;
  const auto at = read.find(name);
  return at != read.end() ? at->second : read.emplace(name, read_golden(name)).first->second;
}

const std::filesystem::path& synthetic_folder(const std::string& name) {
  static const temporary_folder root;
  static std::map<std::string, std::filesystem::path> written;
  auto& path = written[name];
  if (path.empty()) {
    path = root.path() / name;
    const auto recipe = find_recipe(name);
    GLIMMER_ASSERT(recipe.has_value(), "the recipe is known");
    const auto done = write_checkpoint(*recipe, path, {});
    GLIMMER_ASSERT(done.has_value(), "a temporary folder can be written");
  }
  return path;
}

const std::filesystem::path& synthetic_head_folder(const std::string& name) {
  static const temporary_folder root;
  static std::map<std::string, std::filesystem::path> written;
  auto& path = written[name];
  if (path.empty()) {
    path = root.path() / name;
    const auto recipe = find_head_recipe(name);
    GLIMMER_ASSERT(recipe.has_value(), "the recipe is known");
    const auto done = write_head(*recipe, path);
    GLIMMER_ASSERT(done.has_value(), "a temporary folder can be written");
  }
  return path;
}

const checkpoint& synthetic_checkpoint(const std::string& name) {
  static std::map<std::string, std::unique_ptr<checkpoint>> opened;
  auto& slot = opened[name];
  if (!slot) {
    auto c = open_checkpoint(synthetic_folder(name));
    GLIMMER_ASSERT(c.has_value(), "a synthetic checkpoint passes every check");
    slot = std::make_unique<checkpoint>(std::move(*c));
  }
  return *slot;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  GLIMMER_ASSERT(a.size() == b.size(), "arrays of one size are compared");
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= largest)) largest = difference;  // a NaN stays
  }
  return largest;
}

double relative_rms(std::span<const float> a, std::span<const float> b) {
  GLIMMER_ASSERT(a.size() == b.size(), "arrays of one size are compared");
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - b[i];
    difference += d * d;
    size += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(difference / size);
}

}  // namespace glimmer
