// Megabytes a second of encoding, tokens a second of decoding, and of JSON to prompt.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "bench/figure.hpp"
#include "engine/request_intake.hpp"
#include "tokenizer/chat_template.hpp"
#include "tokenizer/detokenizer.hpp"

namespace glimmer {
namespace {

constexpr std::size_t megabyte = 1'000'000;

/// Words of random letters in random order: no text repeats, so no cache lies about the speed.
std::string varied(std::size_t bytes, std::string_view between) {
  std::mt19937 random{1};
  std::string out;
  out.reserve(bytes + 32);
  while (out.size() < bytes) {
    const auto letters = 1 + random() % 9;
    for (std::size_t i = 0; i < letters; ++i) out += static_cast<char>('a' + random() % 26);
    out += between[random() % between.size()];
  }
  return out;
}

std::string repeated(std::string_view text, std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += text;
  return out;
}

void measure_encoding(const tokenizer& words, std::string_view name, const std::string& text) {
  std::vector<token_id> tokens;
  const auto begin = cpu_seconds();
  constexpr std::size_t chunk = 1 << 16;  // as prompts come; cut behind blanks
  for (std::size_t at = 0; at < text.size();) {
    auto end = std::min(at + chunk, text.size());
    while (end < text.size() && text[end] != ' ' && end - at < 2 * chunk) ++end;
    GLIMMER_ASSERT(words.append(std::string_view{text}.substr(at, end - at), tokens), "valid");
    at = end;
  }
  const auto took = cpu_seconds() - begin;
  figure_line{{.bench = "tokenizer", .subject = name}}
      .add("mb_per_s", static_cast<double>(text.size()) / megabyte / took)
      .add("tokens_per_s", static_cast<double>(tokens.size()) / took)
      .print();
}

void measure_decoding(const std::shared_ptr<const tokenizer>& words, const std::string& text) {
  const auto tokens = words->encode(text);
  GLIMMER_ASSERT(tokens, "valid");
  detokenizer stream{words};
  std::string out;
  std::size_t bytes = 0;
  const auto begin = cpu_seconds();
  for (const auto token : *tokens) {
    out.clear();
    stream.push(token, out);
    bytes += out.size();
  }
  const auto took = cpu_seconds() - begin;
  GLIMMER_ASSERT(bytes > 0, "there is text");
  figure_line{{.bench = "tokenizer", .subject = "decode, token by token"}}
      .add("tokens_per_s", static_cast<double>(tokens->size()) / took)
      .print();
}

/// From a body's bytes to the tokens of its prompt, and without the encoding.
void measure_requests(const std::shared_ptr<const tokenizer>& words, const std::string& text) {
  const auto vocab = static_cast<std::uint32_t>(words->words().size());
  const request_rules rules{
      .served_models = {"m"}, .defaults = {}, .vocab_tokens = vocab, .bounds = {}};
  const request_intake intake{
      {.requests = rules, .seed = 1},
      request_preparer{words, {.context_tokens = 1 << 30, .vocab_tokens = vocab}}};
  std::string body = R"({"max_tokens":16,"messages":[)";
  for (int i = 0; i < 20; ++i) {
    body += std::string{i > 0 ? "," : ""} + R"({"role":"user","content":")" +
            text.substr(static_cast<std::size_t>(i) * 5000, 5000) + "\"}";
  }
  body += "]}";
  const int runs = 100;
  const auto total = static_cast<double>(body.size()) * runs / megabyte;
  auto begin = cpu_seconds();
  for (int i = 0; i < runs; ++i) GLIMMER_ASSERT(parse_chat_request(body, rules), "valid");
  const auto parsing = cpu_seconds() - begin;
  begin = cpu_seconds();
  for (int i = 0; i < runs; ++i) {
    const auto request = parse_chat_request(body, rules);
    const auto pieces = render_chat(std::get<chat_prompt>(request->prompt), "2026-01-01");
    GLIMMER_ASSERT(!pieces.pieces().empty(), "a prompt");
  }
  const auto rendering = cpu_seconds() - begin;
  begin = cpu_seconds();
  for (int i = 0; i < runs; ++i) {
    GLIMMER_ASSERT(intake.take({.request = {1}, .body = body}, {}), "valid");
  }
  figure_line{{.bench = "tokenizer", .subject = "request of 100 kB"}}
      .add("parse_mb_per_s", total / parsing)
      .add("parse_render_mb_per_s", total / rendering)
      .add("parse_render_encode_mb_per_s", total / (cpu_seconds() - begin))
      .print();
}

}  // namespace
}  // namespace glimmer

/// tokenizer_bench [TOKENIZER.JSON [TEXT...]]
int main(int argc, char** argv) {
  using namespace glimmer;
  const auto words = tokenizer::load(argc > 1 ? argv[1] : GLIMMER_BENCH_TOKENIZER);
  if (!words) {
    std::fprintf(stderr, "%s\n", words.error().text.c_str());
    return 1;
  }
  const auto random_words = varied(50 * megabyte, "          \n.,");
  measure_encoding(**words, "random words, read once", random_words);
  for (int i = 2; i < argc; ++i) {
    std::ifstream file{argv[i], std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
    measure_encoding(**words, argv[i], text);
  }
  measure_encoding(**words, "one letter", repeated("a", megabyte));
  measure_encoding(**words, "blanks", repeated(" ", megabyte));
  measure_encoding(**words, "no blanks", varied(megabyte, "abc"));
  measure_encoding(**words, "marks", repeated("!?;:-_=+", megabyte));
  measure_encoding(**words, "ideographs", repeated("漢字仮名交文𠮷", megabyte));
  measure_decoding(*words, random_words.substr(0, 5 * megabyte));
  measure_requests(*words, varied(megabyte, " "));
}
