// A program with an actor system of its own that serves chats with libglimmer: waits until the
// engine is ready, streams an answer, cancels another in the middle, submits a bad request, drains.
//
//     embed_cpp MODEL [flags of glimmerd]

#include <caf/all.hpp>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "glimmer/actor_handles.hpp"

// Parts of answers come to this program's actor as they are.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(glimmer::answer_part)

namespace {

using ready = caf::atom_constant<caf::atom("ready")>;
using ended = caf::atom_constant<caf::atom("ended")>;

constexpr auto patience = std::chrono::minutes{2};

[[noreturn]] void give_up(std::string_view why) {
  std::cerr << "embed_cpp: " << why << '\n';
  std::exit(1);
}

void expect(bool truth, std::string_view what) {
  if (!truth) give_up(what);
}

std::string stream_request(std::string_view max_tokens) {
  return R"({"messages": [{"role": "user", "content": "Hello there"}], "stream": true, "seed": 7,
             "ignore_eos": true, "max_tokens": )" +
         std::string{max_tokens} + "}";
}

/// This program's own actor: the main thread, which owns an engine and reads what it says.
class host {
 public:
  explicit host(caf::actor_system& system) : self_{system}, address_{self_} {}

  glimmer::engine_events events() const {
    return {.on_ready = [to = address_] { caf::anon_send(to, ready::value); },
            .on_end = [to = address_](int code) { caf::anon_send(to, ended::value, code); }};
  }
  void wait_ready() {
    self_->receive([](ready) {}, [](ended, int) { give_up("the engine ended while loading"); },
                   caf::after(patience) >> [] { give_up("the engine is not ready"); });
  }
  int wait_end() {
    int exit_code = -1;
    self_->receive([&](ended, int code) { exit_code = code; },
                   caf::after(patience) >> [] { give_up("the engine does not end"); });
    return exit_code;
  }
  /// Every part of the answer becomes a message to this actor.
  glimmer::submission submit(glimmer::engine& engine, std::string_view request) const {
    return engine.submit(
        request, [to = address_](const glimmer::answer_part& part) { caf::anon_send(to, part); });
  }
  glimmer::answer_part next_part() {
    glimmer::answer_part part;
    self_->receive([&](const glimmer::answer_part& got) { part = got; },
                   caf::after(patience) >> [] { give_up("an answer stays away"); });
    return part;
  }
  /// Reads an answer to its end; all its bytes in one part.
  glimmer::answer_part rest_of_answer() {
    glimmer::answer_part whole = next_part();
    while (!whole.last) {
      const auto more = next_part();
      whole.bytes += more.bytes;
      whole.last = more.last;
    }
    return whole;
  }

 private:
  caf::scoped_actor self_;
  caf::actor address_;
};

int serve(caf::actor_system& system, const glimmer::server_options& options) {
  host me{system};
  auto engine = glimmer::load_engine(system, options, me.events());
  if (!engine) give_up(engine.error().text);
  expect(glimmer::supervisor_of(**engine) != nullptr, "the engine has a supervisor");
  me.wait_ready();

  me.submit(**engine, stream_request("24"));
  const auto answer = me.rest_of_answer();
  expect(answer.status == 200, "a chat is answered with 200");
  expect(answer.bytes.starts_with("data: {"), "an answer begins with an event");
  expect(answer.bytes.ends_with("data: [DONE]\n\n"), "an answer ends whole");

  const auto unwanted = me.submit(**engine, stream_request("4000"));
  for (int parts = 0; parts < 3; ++parts) expect(!me.next_part().last, "a long answer goes on");
  (*engine)->cancel(unwanted);
  const auto rest = me.rest_of_answer();
  expect(rest.last && !rest.bytes.ends_with("[DONE]\n\n"), "a cancelled answer ends early");

  me.submit(**engine, R"({"messages": [], "temperature": "warm"})");
  const auto refusal = me.rest_of_answer();
  expect(refusal.status == 400, "a bad request is refused");
  expect(refusal.bytes.find("temperature") != std::string::npos, "a refusal names the field");

  (*engine)->drain();
  return me.wait_end();
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> flags(argv + 1, argv + argc);
  const auto options = glimmer::parse_options(flags);
  if (!options) give_up(options.error().text);
  caf::actor_system_config config;
  caf::actor_system system{config};
  const int exit_code = serve(system, *options);
  std::cout << "glimmer " << glimmer::glimmer_version() << " ended with " << exit_code << '\n';
  return exit_code;
}
