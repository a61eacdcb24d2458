#include "tokenizer/tokenizer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>

namespace glimmer {

namespace {

/// Parts that would change the text before or after us; the release has none of them.
result<void> check_frame(const json& root) {
  const auto normalizer = root.find("normalizer");
  if (normalizer && !normalizer->is_null()) {
    return fail(unsupported_tokenizer("normalizer", "A tokenizer that normalises is not served."));
  }
  const auto decoder = root.find("decoder");
  if (!decoder || decoder->is_null()) return {};
  const auto type = decoder->find("type");
  if (type && type->is_string() && type->string() == "ByteLevel") return {};
  return fail(unsupported_tokenizer("decoder", "The tokenizer's decoder is not ByteLevel."));
}

}  // namespace

result<std::shared_ptr<const tokenizer>> tokenizer::load(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
  if (!file) {
    return fail(unsupported_tokenizer("tokenizer.json",
                                      fmt::format("The file \"{}\" cannot be read.", path)));
  }
  return parse(text);
}

result<std::shared_ptr<const tokenizer>> tokenizer::parse(std::string_view json_text) {
  const auto root = json::parse(json_text);
  if (!root) return fail(root.error());
  if (auto fine = check_frame(*root); !fine) return fail(std::move(fine.error()));

  auto words = vocabulary::from_tokenizer_json(*root);
  if (!words) return fail(std::move(words.error()));
  auto merges = bpe::from_tokenizer_json(*root, *words);
  if (!merges) return fail(std::move(merges.error()));
  auto split = pretokenizer::from_tokenizer_json(root->find("pre_tokenizer").value_or(json{}));
  if (!split) return fail(std::move(split.error()));

  std::shared_ptr<tokenizer> out{new tokenizer};
  out->words_ = std::move(*words);
  out->merges_ = std::move(*merges);
  out->split_ = std::move(*split);
  return out;
}

result<void> tokenizer::append(std::string_view text, std::vector<token_id>& out) const {
  const auto ends = split_.split(text);
  if (!ends) return fail(ends.error());
  // Not to the exact size: a chat appends many texts to one prompt.
  const auto wanted = out.size() + ends->size();
  if (wanted > out.capacity()) out.reserve(std::max(wanted, 2 * out.capacity()));
  // A vocabulary is larger than the near caches: pieces are announced some places ahead.
  std::array<hashed_bytes, 8> announced;
  repeated_pieces before{ends->size()};
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ends->size() + announced.size(); ++i) {
    auto& place = announced[i % announced.size()];
    if (i >= announced.size()) merges_.encode(place, words_, before, out);
    if (i >= ends->size()) continue;
    const std::size_t end = (*ends)[i];
    place = hashed_bytes{text.substr(begin, end - begin)};
    words_.fetch(place);
    begin = end;
  }
  return {};
}

result<std::vector<token_id>> tokenizer::encode(std::string_view text, bos_policy bos) const {
  std::vector<token_id> out;
  if (bos == bos_policy::prepend) out.push_back(id(control_token::begin_of_text));
  if (auto done = append(text, out); !done) return fail(std::move(done.error()));
  return out;
}

std::string tokenizer::decode(std::span<const token_id> tokens, special_text specials) const {
  std::string out;
  for (const token_id id : tokens) {
    out += words_.bytes(id);
    if (specials == special_text::spelled) out += words_.special_spelling(id);
  }
  return out;
}

}  // namespace glimmer
