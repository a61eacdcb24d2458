#include "tokenizer/pretokenizer.hpp"

#include <fmt/core.h>

#include <limits>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "tokenizer/o200k_splitter.hpp"
#include "tokenizer/regex_splitter.hpp"

namespace glimmer {

namespace {

error refused(std::string what) {
  return {error_kind::bad_request, "unsupported_tokenizer", "pre_tokenizer",
          fmt::format("The tokenizer's pre_tokenizer {} is not supported.", what)};
}

std::string_view text_of(const json& node, std::string_view key) {
  const auto member = node.find(key);
  return member && member->is_string() ? member->string() : std::string_view{};
}

bool flag_of(const json& node, std::string_view key, bool otherwise) {
  const auto member = node.find(key);
  return member && member->is_boolean() ? member->boolean() : otherwise;
}

}  // namespace

result<std::shared_ptr<const splitter>> make_splitter(std::string_view pattern) {
  if (pattern == o200k_pattern) return std::make_shared<const o200k_splitter>();
  return regex_splitter::compile(pattern);
}

result<pretokenizer> pretokenizer::from_tokenizer_json(const json& pre_tokenizer) {
  pretokenizer out;
  if (pre_tokenizer.is_null()) return out;
  if (auto added = out.add(pre_tokenizer); !added) return fail(std::move(added.error()));
  return out;
}

result<void> pretokenizer::add(const json& node) {
  const std::string_view type = text_of(node, "type");
  if (type == "Split") return add_split(node);
  if (type == "ByteLevel") {
    // Its mapping of bytes to letters is undone when the vocabulary is read; nothing is left.
    if (flag_of(node, "use_regex", true)) return fail(refused("ByteLevel with its own regex"));
    if (flag_of(node, "add_prefix_space", true)) {
      return fail(refused("ByteLevel with a prefix space"));
    }
    return {};
  }
  if (type != "Sequence") return fail(refused(fmt::format("\"{}\"", type)));
  const auto steps = node.find("pretokenizers");
  if (!steps || !steps->is_array()) return fail(refused("Sequence without steps"));
  for (auto step = steps->first(); step; step = step->next()) {
    if (text_of(*step, "type") == "Sequence") return fail(refused("Sequence within a Sequence"));
    if (auto added = add(*step); !added) return added;
  }
  return {};
}

result<void> pretokenizer::add_split(const json& node) {
  const std::string_view behavior = text_of(node, "behavior");
  if (behavior != "Isolated") return fail(refused(fmt::format("Split with \"{}\"", behavior)));
  if (flag_of(node, "invert", false)) return fail(refused("Split, inverted,"));
  const auto pattern = node.find("pattern");
  const auto regex = pattern ? pattern->find("Regex") : std::nullopt;
  if (!regex || !regex->is_string()) return fail(refused("Split without a Regex"));
  auto step = make_splitter(regex->string());
  if (!step) return fail(std::move(step.error()));
  steps_.push_back(std::move(*step));
  return {};
}

result<piece_ends> pretokenizer::split(std::string_view text) const {
  GLIMMER_ASSERT(text.size() < std::numeric_limits<std::uint32_t>::max(), "bodies are smaller");
  piece_ends ends;
  if (!text.empty()) ends.push_back(static_cast<std::uint32_t>(text.size()));
  for (const auto& step : steps_) {
    piece_ends finer;
    finer.reserve(text.size() / 4);
    if (auto done = step->split(text, ends, finer); !done) return fail(std::move(done.error()));
    ends = std::move(finer);
  }
  return ends;
}

}  // namespace glimmer
