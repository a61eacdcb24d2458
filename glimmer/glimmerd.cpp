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

/// Members of the requests that the welcome suggests: an answer as it is written, and a tool call.
/// The model that ships can do both.
constexpr const char* examples[] = {
    R"("stream": true, "messages": [{"role": "user", "content": "What is the capital of Italy?"}])",
    R"("messages": [{"role": "user", "content": "Please send a message with text hello."}], )"
    R"("tools": [{"type": "function", "function": {"name": "send_message", )"
    R"("description": "Send a message.", "parameters": {"type": "object", )"
    R"("properties": {"text": {"type": "string"}}}}}])"};

void print_welcome(const engine& up, const server_options& options) {
  const auto host = options.host.empty() || options.host == "0.0.0.0" ? "127.0.0.1" : options.host;
  const auto* key = options.api_keys.empty() ? "" : " -H 'Authorization: Bearer YOUR_KEY'";
  fmt::print("\n{} is ready at http://{}:{}/v1. Try:\n", up.model_name(), host, up.port());
  for (const auto* request : examples) {
    fmt::print(
        "\n  curl http://{}:{}/v1/chat/completions{} -H 'Content-Type: application/json' -d "
        "'{{\"model\": \"{}\", {}}}'\n",
        host, up.port(), key, up.model_name(), request);
  }
  fmt::print("\n");
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
