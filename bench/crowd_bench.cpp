// Many connections at once: a burst of callers for one place, and ten thousand open streams.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/assert.hpp"
#include "bench/figure.hpp"
#include "bench/server_process.hpp"

namespace glimmer {
namespace {

using clock = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

struct caller {
  clock::time_point asked{};
  clock::time_point heard{};
  std::uint64_t events = 0;
};

/// Connections of this process, each with one request.
class crowd {
 public:
  explicit crowd(const server_process& server) : server_{server}, poll_{::epoll_create1(0)} {}
  ~crowd() {
    for (const auto& [fd, one] : callers_) ::close(fd);
    ::close(poll_);
  }
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;

  void call(const std::string& request, std::size_t times) {
    request_ = request;
    for (std::size_t i = 0; i < times; ++i) {
      const int fd = server_.connect();
      callers_[fd].asked = clock::now();
      epoll_event wish{.events = EPOLLIN | EPOLLOUT, .data = {.fd = fd}};
      ::epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &wish);
      if (i % 64 == 63) listen(0);  // as a client with a loop would
    }
  }

  /// Until so many callers have heard something.
  void until_heard(std::size_t count) {
    while (heard_ < count) listen(100);
  }
  /// Until so many streams have ended.
  void until_ended(std::size_t count) {
    while (ended_ < count) listen(100);
  }

  std::uint64_t events() const { return events_; }
  /// From asking to the first byte, in rising order.
  std::vector<double> waits_ms() const {
    std::vector<double> out;
    for (const auto& [fd, one] : callers_) {
      out.push_back(milliseconds{one.heard - one.asked}.count());
    }
    std::ranges::sort(out);
    return out;
  }

 private:
  void listen(int wait_ms) {
    std::array<epoll_event, 1024> ready;
    const int count = ::epoll_wait(poll_, ready.data(), ready.size(), wait_ms);
    for (int i = 0; i < count; ++i) {
      const int fd = ready[static_cast<std::size_t>(i)].data.fd;
      const auto what = ready[static_cast<std::size_t>(i)].events;
      if ((what & EPOLLOUT) != 0) ask(fd);
      if ((what & ~EPOLLOUT) != 0) hear(fd);
    }
  }
  void ask(int fd) {
    const auto sent = ::send(fd, request_.data(), request_.size(), MSG_NOSIGNAL);
    GLIMMER_ASSERT(sent == static_cast<ssize_t>(request_.size()), "a request fits a socket");
    epoll_event wish{.events = EPOLLIN, .data = {.fd = fd}};
    ::epoll_ctl(poll_, EPOLL_CTL_MOD, fd, &wish);
  }
  void hear(int fd) {
    const auto got = ::read(fd, bytes_.data(), bytes_.size());
    GLIMMER_ASSERT(got > 0, "the server answers everybody");
    auto& one = callers_.at(fd);
    if (one.heard == clock::time_point{}) {
      one.heard = clock::now();
      ++heard_;
    }
    const std::string_view text{bytes_.data(), static_cast<std::size_t>(got)};
    for (std::size_t at = 0; (at = text.find("data: {", at)) != text.npos; at += 7) ++events_;
    if (text.ends_with("\r\n0\r\n\r\n")) ++ended_;
  }

  const server_process& server_;
  int poll_;
  std::string request_;
  std::unordered_map<int, caller> callers_;
  std::vector<char> bytes_ = std::vector<char>(1 << 16);
  std::size_t heard_ = 0;
  std::size_t ended_ = 0;
  std::uint64_t events_ = 0;
};

double sum(const std::vector<double>& seconds) {
  double all = 0;
  for (const auto one : seconds) all += one;
  return all;
}

std::vector<std::string> flags_of(std::vector<std::string> command, const std::string& script,
                                  std::vector<std::string> more) {
  for (const auto* flag : {"--port", "0", "--log-level", "error", "--api-server-count", "2",
                           "--max-model-len", "512", "--executor"}) {
    command.emplace_back(flag);
  }
  command.push_back("script:" + script);
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

const std::string streamed = R"({"stream":true,"messages":[{"role":"user","content":"go"}]})";

/// Callers for one place that is taken: each is told 429.
void measure_burst(const std::vector<std::string>& command) {
  constexpr std::size_t callers = 5000;
  const temporary_file script{turn_of({.words = 400, .delay_ms = 50})};
  const socket_probe probe;
  server_process server{flags_of(command, script.path(), {"--max-num-queued-reqs", "1"}),
                        probe.settings()};
  figure_line line{{.bench = "crowd", .subject = "5000 callers for one place"}};
  {
    crowd holder{server};
    holder.call(bytes_of({.body = streamed}), 1);
    holder.until_heard(1);
    const auto cpu = sum(server.cpu_seconds());
    const auto resident = server.resident_bytes();
    crowd burst{server};
    const auto begin = clock::now();
    burst.call(bytes_of({.body = streamed}), callers);
    burst.until_heard(callers);
    const auto waits = burst.waits_ms();
    line.add("all_answered_ms", milliseconds{clock::now() - begin}.count())
        .add("wait_p50_ms", waits[callers / 2])
        .add("wait_p99_ms", waits[callers * 99 / 100])
        .add("server_cpu_us_each", (sum(server.cpu_seconds()) - cpu) * 1e6 / callers)
        .add("resident_bytes_each", (server.resident_bytes() - resident) / callers);
  }
  server.end();
  const auto waits = probe.read();
  GLIMMER_ASSERT(waits.samples >= callers, "the probe has seen every caller");
  line.add("read_to_write_p50_us", waits.p50_us)
      .add("read_to_write_p99_us", waits.p99_us)
      .add("read_to_write_max_us", waits.max_us);
  line.print();
}

/// Streams that are all open, most of them waiting for their turn.
void measure_streams(const std::vector<std::string>& command) {
  constexpr std::size_t streams = 9500;
  const temporary_file script{turn_of({.words = 100})};
  server_process server{flags_of(
      command, script.path(),
      {"--max-num-queued-reqs", "20000", "--max-connections", "10000", "--max-num-seqs", "256"})};
  const auto resident = server.resident_bytes();
  const auto begin = clock::now();
  crowd all{server};
  all.call(bytes_of({.body = streamed}), streams);
  all.until_heard(streams);
  const auto opened = milliseconds{clock::now() - begin}.count();
  const auto grown = server.resident_bytes() - resident;
  all.until_ended(streams);
  const auto took = milliseconds{clock::now() - begin}.count();
  const auto events = static_cast<double>(all.events());
  figure_line{{.bench = "crowd", .subject = "9500 open streams"}}
      .add("all_open_ms", opened)
      .add("resident_bytes_each", grown / streams)
      .add("all_ended_ms", took)
      .add("events_per_s", events * 1000 / took)
      .add("server_us_each", sum(server.cpu_seconds()) * 1e6 / events)
      .print();
}

}  // namespace
}  // namespace glimmer

/// bench_crowd GLIMMERD MODEL
int main(int argc, char** argv) {
  using namespace glimmer;
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_crowd GLIMMERD MODEL\n");
    return 1;
  }
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  const std::vector<std::string> command{argv + 1, argv + 3};
  for (int run = 0; run < 3; ++run) measure_burst(command);
  measure_streams(command);
}
