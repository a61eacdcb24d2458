// glimmer-bench: figures of the ops, of a model, of the engine, and of any OpenAI server.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "bench/program/commands.hpp"

namespace {

struct command {
  std::string_view name;
  std::string_view about;
  int (*run)(glimmer::words);
};

constexpr command commands[] = {
    {"ops", "each op, as shares of the bandwidth and the arithmetic measured in the same run",
     glimmer::run_ops},
    {"model", "prefill and decode of a checkpoint, by batch and context", glimmer::run_model},
    {"throughput", "requests a second of the engine alone, without a server",
     glimmer::run_throughput},
    {"serve",
     "times of an OpenAI server under load: closed (--concurrency) or open (--request-rate)",
     glimmer::run_serve},
};

void print_help(std::FILE* to) {
  fmt::print(to, "glimmer-bench COMMAND [flags]; COMMAND --help lists the flags\n");
  for (const auto& c : commands) fmt::print(to, "  {:<11} {}\n", c.name, c.about);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "--help") return print_help(stdout), 0;
  for (const auto& c : commands)
    if (!words.empty() && words[0] == c.name) return c.run(std::span{words}.subspan(1));
  print_help(stderr);
  return 2;
}
