// Tokens a second of the digester: plain content, reasoning, calls; at one token a push and at
// many.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "base/json.hpp"
#include "bench/figure.hpp"
#include "engine/token_digester.hpp"

namespace glimmer {
namespace {

struct turn_case {
  std::string_view name;
  std::string before;  // of the text, behind the prompt
  std::string text;    // repeated
  std::string after;
};

/// Text with control tokens spelled, as tokens.
std::vector<token_id> encode(const tokenizer& words, std::string_view text) {
  std::vector<token_id> out;
  while (!text.empty()) {
    const bool control = text.starts_with("<|");
    const auto end = control ? text.find("|>") + 2 : std::min(text.find("<|"), text.size());
    const auto run = text.substr(0, end);
    if (control) {
      out.push_back(words.words().find_special(run).value());
    } else {
      GLIMMER_ASSERT(words.append(run, out), "the text is valid");
    }
    text.remove_prefix(end);
  }
  return out;
}

std::vector<turn_case> cases() {
  const std::string prose =
      "The harbour was quiet, and nobody had counted the boats since the storm of 1987. ";
  const std::string value =
      R"(<|start|>assistant to=note<|message|><atem:function_calls>
<atem:invoke name="note">
<atem:parameter name="text">A short line of text.</atem:parameter>
<atem:parameter name="count">12</atem:parameter>
</atem:invoke>
</atem:function_calls><|eom|>)";
  return {{"content", " to=user<|message|>", prose, "<|eot|>"},
          {"reasoning", " to=self<|message|>", prose, "<|eot|>"},
          {"tool_calls", " to=self<|message|>x<|eom|>", value, "<|eot|>"},
          {"one_long_value",
           " to=note<|message|><atem:function_calls>\n<atem:invoke name=\"note\">\n"
           "<atem:parameter name=\"text\">",
           prose, "</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>"}};
}

response_options with_tools() {
  response_options out;
  out.tools = {
      {.name = "note",
       .parameters = *json::parse(R"({"type":"object","properties":{"text":{"type":"string"},)"
                                  R"("count":{"type":"integer"}}})")}};
  return out;
}

void measure(const std::shared_ptr<const tokenizer>& words, const turn_case& turn,
             std::size_t per_push) {
  constexpr std::size_t tokens_wanted = 200'000;
  const auto repeated = encode(*words, turn.text);
  auto tokens = encode(*words, turn.before);
  while (tokens.size() < tokens_wanted) {
    tokens.insert(tokens.end(), repeated.begin(), repeated.end());
  }
  const auto after = encode(*words, turn.after);
  tokens.insert(tokens.end(), after.begin(), after.end());
  const auto context = make_digest_context(words, with_tools(), {1, 2, 0});
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    token_digester digester{context, {}};
    std::vector<turn_event> events;
    std::size_t bytes = 0;
    const auto begin = cpu_seconds();
    for (std::size_t at = 0; at < tokens.size(); at += per_push) {
      events.clear();
      digester.push(std::span{tokens}.subspan(at, std::min(per_push, tokens.size() - at)), events);
      for (const auto& event : events) bytes += event.text.size();
    }
    digester.finish(finish_reason::stop, events);
    const auto took = cpu_seconds() - begin;
    GLIMMER_ASSERT(bytes + events.size() > 0, "the turn says something");
    best = std::max(best, static_cast<double>(tokens.size()) / took);
  }
  const auto subject = std::string{turn.name} + ", " + std::to_string(per_push) + " a push";
  figure_line{{.bench = "parsers", .subject = subject}}.add("tokens_per_s", best).print();
}

}  // namespace
}  // namespace glimmer

/// parsers_bench [TOKENIZER.JSON]
int main(int argc, char** argv) {
  using namespace glimmer;
  const auto words = tokenizer::load(argc > 1 ? argv[1] : GLIMMER_BENCH_TOKENIZER);
  if (!words) {
    std::fprintf(stderr, "%s\n", words.error().text.c_str());
    return 1;
  }
  for (const auto& turn : cases()) {
    for (const std::size_t per_push : {1, 8}) measure(*words, turn, per_push);
  }
}
