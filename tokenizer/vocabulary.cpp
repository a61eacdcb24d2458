#include "tokenizer/vocabulary.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tokenizer/utf8.hpp"

namespace glimmer {

namespace {

// Far beyond any published vocabulary; keeps a broken file from claiming memory.
constexpr std::int64_t ids_max = 1 << 22;

/// The byte that U+0000..U+0143 stands for, or -1. Printable Latin-1 letters stand for themselves;
/// the other bytes, in order, for U+0100 and on.
constexpr std::array<std::int16_t, 0x144> byte_of_letter = [] {
  std::array<std::int16_t, 0x144> table{};
  table.fill(-1);
  std::size_t stand_in = 0x100;
  for (std::int16_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
    table[printable ? static_cast<std::size_t>(byte) : stand_in++] = byte;
  }
  return table;
}();

constexpr std::array<std::string_view, control_token_count> control_spellings = {
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|eom|>",
    "<|eot|>",
    "<|start|>",
    "<|message|>",
    "<|image_start|>",
    "<|image_end|>",
    "<|vid_start|>",
    "<|vid_end|>",
    "<|vid_frame_separator|>",
    "<|video|>",
    "<|patch|>"};

std::optional<token_id> id_of(const std::optional<json>& value) {
  if (!value || !value->is_number()) return {};
  const auto id = value->integer();
  if (!id || *id < 0 || *id >= ids_max) return {};
  return static_cast<token_id>(*id);
}

}  // namespace

std::string_view spelling(control_token which) {
  return control_spellings[static_cast<std::size_t>(which)];
}

error unsupported_tokenizer(std::string_view part, std::string why) {
  return {error_kind::bad_request, "unsupported_tokenizer", std::string{part}, std::move(why)};
}

std::optional<std::string> decode_byte_level(std::string_view word) {
  std::string bytes;
  while (!word.empty()) {
    const utf8_char c = first_utf8_char(word);
    if (c.what != utf8_char::state::whole || c.value >= byte_of_letter.size()) return {};
    if (byte_of_letter[c.value] < 0) return {};
    bytes.push_back(static_cast<char>(byte_of_letter[c.value]));
    word.remove_prefix(c.length);
  }
  return bytes;
}

result<vocabulary> vocabulary::from_tokenizer_json(const json& root) {
  const auto model = root.find("model");
  const auto base = model ? model->find("vocab") : std::nullopt;
  const auto added = root.find("added_tokens");
  if (!base || !base->is_object()) {
    return fail(unsupported_tokenizer("model.vocab", "The tokenizer has no vocabulary."));
  }
  vocabulary out;
  if (added && added->is_array()) {
    if (auto done = out.add_special_tokens(*added); !done) return fail(std::move(done.error()));
  }
  if (auto done = out.add_base_tokens(*base); !done) return fail(std::move(done.error()));
  if (auto done = out.look_up_control_tokens(); !done) return fail(std::move(done.error()));
  return out;
}

result<void> vocabulary::place(token_id id, std::string_view text, entry::kind what) {
  const auto at = static_cast<std::size_t>(id);
  if (at >= entries_.size()) entries_.resize(at + 1);
  if (entries_[at].what != entry::kind::unused) {
    return fail(unsupported_tokenizer("model.vocab",
                                      fmt::format("The tokenizer gives id {} to two tokens.", id)));
  }
  entry& e = entries_[at];
  e.what = what;
  if (text.size() <= entry::inline_max) {
    e.length = static_cast<std::uint8_t>(text.size());
    std::ranges::copy(text, e.text.begin());
    return {};
  }
  e.length = entry::is_far;
  const entry::far lies{static_cast<std::uint32_t>(arena_.size()),
                        static_cast<std::uint32_t>(text.size())};
  std::memcpy(e.text.data(), &lies, sizeof lies);
  arena_ += text;
  return {};
}

result<void> vocabulary::add_special_tokens(const json& added) {
  for (auto token = added.first(); token; token = token->next()) {
    const auto id = id_of(token->find("id"));
    const auto content = token->find("content");
    if (!id || !content || !content->is_string() || content->string().empty()) {
      return fail(unsupported_tokenizer("added_tokens", "An added token lacks its id or content."));
    }
    if (find_special(content->string())) {
      return fail(unsupported_tokenizer("added_tokens",
                                        fmt::format("\"{}\" is added twice.", content->string())));
    }
    if (auto done = place(*id, content->string(), entry::kind::special); !done) return done;
    by_spelling_.insert(content->string(), static_cast<std::uint32_t>(*id));
    special_ids_.push_back(*id);
  }
  std::ranges::sort(special_ids_);
  return {};
}

result<void> vocabulary::add_base_tokens(const json& vocab) {
  by_bytes_.reserve(vocab.size());
  for (auto token = vocab.first(); token; token = token->next()) {
    const auto id = id_of(*token);
    if (!id) {
      return fail(unsupported_tokenizer(
          "model.vocab", fmt::format("The id of token \"{}\" is no index.", token->key())));
    }
    if (is_special(*id) && special_spelling(*id) == token->key()) continue;  // listed in both
    const auto raw = decode_byte_level(token->key());
    if (!raw || raw->empty()) {
      return fail(unsupported_tokenizer(
          "model.vocab",
          fmt::format("Token \"{}\" is not spelled in the byte-level alphabet.", token->key())));
    }
    if (auto done = place(*id, *raw, entry::kind::base); !done) return done;
    by_bytes_.insert(*raw, static_cast<std::uint32_t>(*id));
  }
  return {};
}

result<void> vocabulary::look_up_control_tokens() {
  for (std::size_t i = 0; i < control_token_count; ++i) {
    const auto id = find_special(control_spellings[i]);
    if (!id) {
      return fail(unsupported_tokenizer(
          "added_tokens",
          fmt::format("The tokenizer has no special token {}.", control_spellings[i])));
    }
    control_ids_[i] = *id;
  }
  return {};
}

std::string_view vocabulary::text(const entry& e) const {
  if (e.length != entry::is_far) return {e.text.data(), e.length};
  entry::far lies;
  std::memcpy(&lies, e.text.data(), sizeof lies);
  return {arena_.data() + lies.begin, lies.length};
}

std::string_view vocabulary::text_if(token_id id, entry::kind what) const {
  if (id < 0 || static_cast<std::size_t>(id) >= entries_.size()) return {};
  const entry& e = entries_[static_cast<std::size_t>(id)];
  return e.what == what ? text(e) : std::string_view{};
}

bool vocabulary::contains(token_id id) const {
  return !bytes(id).empty() || is_special(id);
}

bool vocabulary::is_special(token_id id) const {
  return !special_spelling(id).empty();
}

std::string_view vocabulary::bytes(token_id id) const {
  return text_if(id, entry::kind::base);
}

std::string_view vocabulary::special_spelling(token_id id) const {
  return text_if(id, entry::kind::special);
}

std::optional<token_id> vocabulary::find(const hashed_bytes& raw) const {
  const auto same = [&](std::uint32_t id) { return text(entries_[id]) == raw.bytes; };
  const std::uint32_t* id = by_bytes_.find(raw, same);
  return id != nullptr ? std::optional{static_cast<token_id>(*id)} : std::nullopt;
}

std::optional<token_id> vocabulary::find_special(std::string_view spelled) const {
  const auto same = [&](std::uint32_t id) { return text(entries_[id]) == spelled; };
  const std::uint32_t* id = by_spelling_.find(spelled, same);
  return id != nullptr ? std::optional{static_cast<token_id>(*id)} : std::nullopt;
}

}  // namespace glimmer
