// The whole server under load: scripted turns through real sockets, the load made by this process.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "bench/figure.hpp"
#include "bench/server_process.hpp"

namespace glimmer {
namespace {

using clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

struct load_case {
  std::string_view name;
  std::string script;
  std::string path;
  std::string body;  // empty: a GET
  std::size_t connections = 64;
  bool stream = true;
};

std::string request_of(const load_case& load) {
  if (load.body.empty()) return "GET " + load.path + " HTTP/1.1\r\nHost: a\r\n\r\n";
  return bytes_of({.path = load.path, .body = load.body});
}

/// A client: asks, counts what comes, asks again.
struct client {
  int fd = -1;
  std::string tail;  // the last bytes, in which the end of an answer may lie
  std::uint64_t events = 0;
  std::uint64_t answers = 0;

  void hear(std::string_view bytes, const load_case& load) {
    tail += bytes;
    const std::string_view end = load.stream ? "\r\n0\r\n\r\n" : "}";
    for (std::size_t at = 0; (at = tail.find("data: {", at)) != tail.npos; at += 7) ++events;
    if (tail.ends_with(end)) {
      ++answers;
      tail.clear();
      const auto again = request_of(load);
      GLIMMER_ASSERT(::send(fd, again.data(), again.size(), 0) > 0, "asks again");
    } else {  // what was counted must not be counted again
      tail = tail.substr(tail.size() - std::min<std::size_t>(tail.size(), 6));
    }
  }
};

/// A server that plays a script, and its clients.
class scene {
 public:
  scene(const std::vector<std::string>& command, const load_case& load,
        std::vector<std::string> settings = {})
      : load_{load},
        script_{write_script(load)},
        up_{words_of(command), std::move(settings)},
        clients_(load.connections) {
    const auto request = request_of(load);
    for (auto& one : clients_) {
      one.fd = up_.connect();
      ready_.push_back({.fd = one.fd, .events = POLLIN, .revents = 0});
      GLIMMER_ASSERT(::send(one.fd, request.data(), request.size(), 0) > 0, "asks");
    }
  }
  ~scene() {
    for (const auto& one : clients_) ::close(one.fd);
    fs::remove(script_);
  }
  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;

  /// Calls `heard` behind every read.
  template <class Heard>
  void run_for(std::chrono::milliseconds time, Heard heard) {
    for (const auto end = clock::now() + time; clock::now() < end;) {
      ::poll(ready_.data(), ready_.size(), 100);
      for (std::size_t i = 0; i < ready_.size(); ++i) {
        if (ready_[i].revents == 0) continue;
        const auto n = ::read(ready_[i].fd, bytes_.data(), bytes_.size());
        GLIMMER_ASSERT(n > 0, "the server goes on");
        heard();
        clients_[i].hear({bytes_.data(), static_cast<std::size_t>(n)}, load_);
      }
    }
  }

  /// Events of streams, or answers.
  double count() const {
    std::uint64_t sum = 0;
    for (const auto& one : clients_) sum += load_.stream ? one.events : one.answers;
    return static_cast<double>(sum);
  }
  std::vector<double> cpu_seconds() const { return up_.cpu_seconds(); }

 private:
  static fs::path write_script(const load_case& load) {
    auto path = fs::temp_directory_path() / ("script" + std::to_string(::getpid()));
    std::ofstream{path} << load.script << '\n';
    return path;
  }
  std::vector<std::string> words_of(std::vector<std::string> words) const {
    for (const auto* flag :
         {"--port", "0", "--log-level", "error", "--max-num-seqs", "128", "--executor"}) {
      words.emplace_back(flag);
    }
    words.push_back("script:" + script_.string());
    return words;
  }

  load_case load_;
  fs::path script_;
  server_process up_;
  std::vector<client> clients_;
  std::vector<pollfd> ready_;
  std::vector<char> bytes_ = std::vector<char>(1 << 16);
};

void measure(const std::vector<std::string>& command, const load_case& load) {
  scene all{command, load};
  all.run_for(std::chrono::milliseconds{500}, [] {});
  const auto before = all.cpu_seconds();
  const auto counted = all.count();
  const auto begin = clock::now();
  all.run_for(std::chrono::seconds{4}, [] {});
  const auto took = std::chrono::duration<double>(clock::now() - begin).count();
  const auto events = all.count() - counted;
  const auto after = all.cpu_seconds();
  double cpu = 0;
  for (const auto seconds : after) cpu += seconds;
  for (const auto seconds : before) cpu -= seconds;
  figure_line{{.bench = "serve", .subject = load.name}}
      .add(load.stream ? "events_per_s" : "answers_per_s", events / took)
      .add("server_us_each", cpu * 1e6 / events)
      .add("busiest_thread_us_each", (after.front() - before.front()) * 1e6 / events)
      .print();
}

/// Scripted steps of some time end when the steady clock shows a multiple of it: how much later
/// the writes of their events return, and how much later those are read here.
void measure_latency(const std::vector<std::string>& command, const load_case& load,
                     std::chrono::milliseconds step) {
  const socket_probe probe{static_cast<std::size_t>(step.count())};
  std::vector<double> ms;
  {
    scene all{command, load, probe.settings()};
    all.run_for(std::chrono::milliseconds{500}, [] {});
    all.run_for(std::chrono::seconds{4}, [&] {
      const auto late = clock::now().time_since_epoch() % step;
      ms.push_back(std::chrono::duration<double, std::milli>(late).count());
    });
  }
  std::ranges::sort(ms);
  const auto written = probe.read();
  GLIMMER_ASSERT(written.samples > 0, "the probe has seen writes");
  figure_line{{.bench = "serve", .subject = load.name}}
      .add("written_p50_ms", written.p50_us / 1000)
      .add("written_p99_ms", written.p99_us / 1000)
      .add("read_p50_ms", ms[ms.size() / 2])
      .add("read_p99_ms", ms[ms.size() * 99 / 100])
      .print();
}

}  // namespace
}  // namespace glimmer

/// bench_serve GLIMMERD MODEL
int main(int argc, char** argv) {
  using namespace glimmer;
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_serve GLIMMERD MODEL [flags]\n");
    return 1;
  }
  const std::vector<std::string> command{argv + 1, argv + argc};
  const std::string chat = R"({"stream":true,"messages":[{"role":"user","content":"go"}]})";
  const std::string path = "/v1/chat/completions";
  measure(command, {"64 streams, 1 token a step", turn_of({1500, 1}), path, chat});
  measure(command, {"64 streams, 8 tokens a step", turn_of({1500, 8}), path, chat});
  measure_latency(command, {"64 streams, from a step's end", turn_of({1500, 1, 20}), path, chat},
                  std::chrono::milliseconds{20});
  measure(command, {"tiny answers", turn_of({1}), "/version", "", 64, false});
  measure(command, {"tiny answers of a tokenizer", turn_of({1}), "/tokenize", R"({"prompt":"a"})",
                    64, false});
}
