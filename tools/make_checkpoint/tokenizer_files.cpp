#include "tools/make_checkpoint/tokenizer_files.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "tools/make_checkpoint/toy_bpe.hpp"

namespace glimmer {
namespace {

constexpr std::string_view split_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*)"
    R"(|\s*[\r\n]+)"
    R"(|\s+(?!\S))"
    R"(|\s+)";

/// Specials with a name of their own; the rest are reserved ones.
constexpr std::array<std::pair<token_id, std::string_view>, 15> named_specials{{
    {0, "<|begin_of_text|>"},
    {1, "<|end_of_text|>"},
    {7, "<|eom|>"},
    {8, "<|eot|>"},
    {18, "<|finetune_right_pad|>"},
    {22, "<|start|>"},
    {23, "<|message|>"},
    {80, "<|image_start|>"},
    {81, "<|image_end|>"},
    {82, "<|vid_start|>"},
    {83, "<|vid_end|>"},
    {87, "<|vid_frame_separator|>"},
    {90, "<|image|>"},
    {91, "<|video|>"},
    {92, "<|patch|>"},
}};

std::string special_name(token_id index) {
  for (const auto& [named, name] : named_specials) {
    if (named == index) return std::string{name};
  }
  return "<|reserved_special_token_" + std::to_string(index) + "|>";
}

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

/// The character that stands for each byte: printable bytes for themselves, the others for
/// U+0100 and up, in the order of the alphabet.
std::vector<std::string> byte_characters() {
  std::vector<std::string> characters(256);
  unsigned place = 0;
  constexpr unsigned printable = 188;
  for (const auto b : byte_order()) {
    append_utf8(characters[b], place < printable ? b : 256 + place - printable);
    ++place;
  }
  return characters;
}

class spelling {
 public:
  std::string of(std::string_view bytes) const {
    std::string out;
    for (const char c : bytes) out += characters_[static_cast<unsigned char>(c)];
    return out;
  }

 private:
  std::vector<std::string> characters_ = byte_characters();
};

void write_added_tokens(json_writer& w, token_id base) {
  w.key("added_tokens").begin_array();
  for (token_id i = 0; i < special_token_count; ++i) {
    w.begin_object();
    w.key("id").integer(base + i).key("content").string(special_name(i));
    for (const auto flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      w.key(flag).boolean(false);
    }
    w.key("special").boolean(true).end_object();
  }
  w.end_array();
}

void write_pre_tokenizer(json_writer& w) {
  w.key("pre_tokenizer").begin_object().key("type").string("Sequence");
  w.key("pretokenizers").begin_array();
  w.begin_object().key("type").string("Split");
  w.key("pattern").begin_object().key("Regex").string(split_pattern).end_object();
  w.key("behavior").string("Isolated").key("invert").boolean(false).end_object();
  w.begin_object().key("type").string("ByteLevel");
  w.key("add_prefix_space").boolean(false).key("trim_offsets").boolean(true);
  w.key("use_regex").boolean(false).end_object();
  w.end_array().end_object();
}

/// One text of a template with its <|begin_of_text|> in front.
void write_template_text(json_writer& w, std::string_view text, int type) {
  w.begin_object().key("SpecialToken").begin_object();
  w.key("id").string(special_name(0)).key("type_id").integer(type).end_object().end_object();
  w.begin_object().key("Sequence").begin_object();
  w.key("id").string(text).key("type_id").integer(type).end_object().end_object();
}

/// Puts one <|begin_of_text|> in front of a text, and of each text of a pair.
void write_post_processor(json_writer& w, token_id base) {
  const auto bos = special_name(0);
  w.key("post_processor").begin_object().key("type").string("TemplateProcessing");
  w.key("single").begin_array();
  write_template_text(w, "A", 0);
  w.end_array().key("pair").begin_array();
  write_template_text(w, "A", 0);
  write_template_text(w, "B", 1);
  w.end_array().key("special_tokens").begin_object().key(bos).begin_object();
  w.key("id").string(bos).key("ids").begin_array().integer(base).end_array();
  w.key("tokens").begin_array().string(bos).end_array();
  w.end_object().end_object().end_object();
}

void write_model(json_writer& w, const toy_vocabulary& vocabulary, token_id base) {
  const spelling spell;
  w.key("model").begin_object().key("type").string("BPE");
  for (const auto absent :
       {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"}) {
    w.key(absent).null();
  }
  w.key("fuse_unk").boolean(false).key("byte_fallback").boolean(false);
  w.key("ignore_merges").boolean(true);
  w.key("vocab").begin_object();
  token_id id = 0;
  for (const auto& token : vocabulary.tokens) w.key(spell.of(token)).integer(id++);
  // The pattern cuts these apart, so no text becomes one; a random model may still say them.
  for (; id < base; ++id) w.key("<|unused_" + std::to_string(id) + "|>").integer(id);
  w.end_object().key("merges").begin_array();
  for (const auto& [left, right] : vocabulary.merges) {
    w.begin_array().string(spell.of(left)).string(spell.of(right)).end_array();
  }
  w.end_array().end_object();
}

}  // namespace

std::string tokenizer_json(const checkpoint_recipe& recipe) {
  const auto base = recipe.special_base;
  const auto vocabulary = train_bpe(training_text(), 640);
  std::string out;
  json_writer w{out};
  w.begin_object().key("version").string("1.0").key("truncation").null().key("padding").null();
  write_added_tokens(w, base);
  w.key("normalizer").null();
  write_pre_tokenizer(w);
  write_post_processor(w, base);
  w.key("decoder").begin_object().key("type").string("ByteLevel");
  w.key("add_prefix_space").boolean(true).key("trim_offsets").boolean(true);
  w.key("use_regex").boolean(true).end_object();
  write_model(w, vocabulary, base);
  w.end_object();
  return out;
}

std::string tokenizer_config_json(const checkpoint_recipe& recipe) {
  std::string out;
  json_writer w{out};
  w.begin_object().key("tokenizer_class").string("PreTrainedTokenizerFast");
  w.key("bos_token").string(special_name(0)).key("eos_token").string(special_name(1));
  w.key("pad_token").string(special_name(18));
  w.key("clean_up_tokenization_spaces").boolean(false);
  w.key("model_max_length").integer(recipe.config.text.positions_max).end_object();
  return out;
}

}  // namespace glimmer
