#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glimmer/engine.hpp"
#include "glimmer/options.hpp"
#include "net/loop.hpp"
#include "net/process.hpp"
#include "net/signals.hpp"

namespace {

using namespace glimmer;

constexpr int refused_at_start = 2;  // the exit code of a wrong option, checkpoint or port

void print_welcome(const engine& up, const server_options& options) {
  const auto host = options.host.empty() || options.host == "0.0.0.0" ? "127.0.0.1" : options.host;
  const auto* key = options.api_keys.empty() ? "" : " -H 'Authorization: Bearer YOUR_KEY'";
  fmt::print(
      "\n{} is ready at http://{}:{}/v1. Try:\n\n"
      "  curl http://{}:{}/v1/chat/completions{} -H 'Content-Type: application/json' -d "
      "'{{\"model\": \"{}\", \"stream\": true, \"max_tokens\": 200, \"messages\": "
      "[{{\"role\": \"user\", \"content\": \"Hello!\"}}]}}'\n\n",
      up.model_name(), host, up.port(), host, up.port(), key, up.model_name());
  std::fflush(stdout);
}

int refuse(const error& why) {
  fmt::print(stderr, "glimmerd: {}\n", why.text);
  return refused_at_start;
}

/// Reads the command line and its config file again; a mistake in them changes nothing.
void reload(engine& up, std::span<const std::string> arguments) {
  const auto options = parse_options(arguments);
  if (options) return up.reload(*options);
  fmt::print(stderr, "glimmerd: not reloaded: {}\n", options.error().text);
}

/// Serves until a signal or a failure ends it; the loop of this thread only waits.
int serve(const server_options& options, std::span<const std::string> arguments) {
  event_loop loop;
  int exit_code = 0;
  std::unique_ptr<engine> up;
  auto loaded = engine::load(options,
                             {.on_ready = [&] { loop.post([&] { print_welcome(*up, options); }); },
                              .on_end =
                                  [&](int code) {
                                    loop.post([&, code] {
                                      exit_code = code;
                                      loop.stop();
                                    });
                                  }},
                             engine::with_http::yes);
  if (!loaded) return refuse(loaded.error());
  up = std::move(*loaded);
  {
    const signals watch{loop, {SIGTERM, SIGINT, SIGHUP}, [&](int number) {
                          number == SIGHUP ? reload(*up, arguments) : up->drain();
                        }};
    loop.run();
  }
  up.reset();
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto options = parse_options(arguments);
  if (!options) return refuse(options.error());
  if (options->help) return fmt::print("{}", options_help()), 0;
  if (options->version) return fmt::print("glimmerd {}\n", glimmer_version()), 0;
  raise_descriptor_limit();
  return serve(*options, arguments);
}
