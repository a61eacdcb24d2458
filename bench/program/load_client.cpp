#include "bench/program/load_client.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "bench/program/http_answer.hpp"
#include "bench/program/measure.hpp"

namespace glimmer {
namespace {

struct resolved {
  sockaddr_storage address{};
  socklen_t length = 0;
};

result<resolved> resolve(const server_address& server) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(server.host.c_str(), server.port.c_str(), &hints, &found);
      code != 0)
    return fail(
        bad_value("base-url", "'" + server.host + "' means no address: " + ::gai_strerror(code)));
  resolved out{.length = found->ai_addrlen};
  std::copy_n(reinterpret_cast<const char*>(found->ai_addr), found->ai_addrlen,
              reinterpret_cast<char*>(&out.address));
  ::freeaddrinfo(found);
  return out;
}

/// One request on a connection of its own.
class exchange {
 public:
  exchange(const resolved& to, std::string request, std::size_t index)
      : index_{index}, request_{std::move(request)}, begin_{wall::now()} {
    fd_ = ::socket(to.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const auto* const address = reinterpret_cast<const sockaddr*>(&to.address);
    if (::connect(fd_, address, to.length) != 0 && errno != EINPROGRESS) end(false);
  }
  ~exchange() {
    if (fd_ >= 0) ::close(fd_);
  }
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  std::size_t index() const { return index_; }
  bool over() const { return over_; }
  double age() const { return seconds_since(begin_); }
  answer_record& record() { return record_; }
  pollfd wanted() const {
    const bool sending = sent_ < request_.size();
    return {.fd = fd_, .events = static_cast<short>(sending ? POLLOUT : POLLIN), .revents = 0};
  }

  void go_on() {
    if (sent_ < request_.size()) return send();
    std::array<char, 65'536> bytes;
    const auto n = ::recv(fd_, bytes.data(), bytes.size(), 0);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? void() : end(false);
    const double now = age();
    const std::string_view got{bytes.data(), static_cast<std::size_t>(n)};
    for (const auto& line : n == 0 ? answer_.close() : answer_.push(got)) record_.line(line, now);
    if (answer_.now() == http_answer::state::done) end(answer_.status() == 200);
    if (answer_.now() == http_answer::state::broken) end(false);
  }
  void end(bool ok) {
    record_.end(ok, age());
    over_ = true;
  }

 private:
  void send() {
    const auto n = ::send(fd_, request_.data() + sent_, request_.size() - sent_, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? void() : end(false);
    sent_ += static_cast<std::size_t>(n);
  }

  std::size_t index_;
  std::string request_;
  wall::time_point begin_;
  int fd_ = -1;
  std::size_t sent_ = 0;
  http_answer answer_;
  answer_record record_;
  bool over_ = false;
};

std::string request_text(const load_plan& plan, const std::string& body) {
  const std::string key =
      plan.api_key.empty() ? "" : "Authorization: Bearer " + plan.api_key + "\r\n";
  return "POST " + plan.server.prefix + plan.path + " HTTP/1.1\r\nHost: " + plan.server.host +
         "\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n" + key +
         "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class player {
 public:
  player(const load_plan& plan, const resolved& to) : plan_{plan}, to_{to} {
    outcome_.answers.resize(plan.bodies.size());
  }

  bool over() const { return ended_ == plan_.bodies.size(); }
  std::size_t ended() const { return ended_; }

  void step() {
    start();
    std::vector<pollfd> ready;
    for (const auto& one : running_) ready.push_back(one->wanted());
    ::poll(ready.data(), ready.size(), wait_ms());
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i].revents != 0) running_[i]->go_on();
      if (!running_[i]->over() && running_[i]->age() > plan_.timeout_seconds)
        running_[i]->end(false);
    }
    for (auto& one : running_) {
      if (!one->over()) continue;
      outcome_.answers[one->index()] = std::move(one->record());
      ++ended_;
    }
    std::erase_if(running_, [](const auto& one) { return one->over(); });
  }
  load_outcome outcome() && {
    outcome_.seconds = seconds_since(begin_);
    return std::move(outcome_);
  }

 private:
  /// Sends what is due. An open plan never waits for answers, unless more are in flight than
  /// sockets are wanted: then requests go out late, as those of a client with a pool would.
  void start() {
    while (next_ < plan_.bodies.size() && running_.size() < plan_.concurrency &&
           (plan_.arrivals.empty() || plan_.arrivals[next_] <= seconds_since(begin_))) {
      running_.push_back(
          std::make_unique<exchange>(to_, request_text(plan_, plan_.bodies[next_]), next_));
      ++next_;
    }
  }
  /// Until the next request is due, a second at most, so that timeouts are seen.
  int wait_ms() const {
    if (plan_.arrivals.empty() || next_ == plan_.bodies.size()) return 1000;
    const double left = plan_.arrivals[next_] - seconds_since(begin_);
    return std::clamp(static_cast<int>(left * 1000), 0, 1000);
  }

  const load_plan& plan_;
  const resolved& to_;
  wall::time_point begin_ = wall::now();
  std::vector<std::unique_ptr<exchange>> running_;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
  load_outcome outcome_;
};

}  // namespace

result<server_address> server_address::parse(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  const auto refused = fail(bad_value(
      "base-url", "'" + std::string{url} + "' is no address; http://HOST[:PORT][/PREFIX] is"));
  if (!url.starts_with(scheme)) return refused;
  url.remove_prefix(scheme.size());
  server_address out;
  const auto slash = std::min(url.find('/'), url.size());
  out.prefix = url.substr(slash);
  while (out.prefix.ends_with('/')) out.prefix.pop_back();
  if (out.prefix.ends_with("/v1")) out.prefix.resize(out.prefix.size() - 3);
  const auto place = url.substr(0, slash);
  const auto colon = place.rfind(':');
  out.host = place.substr(0, colon);
  if (colon != place.npos) out.port = place.substr(colon + 1);
  if (out.host.empty() || out.port.empty()) return refused;
  return out;
}

result<load_outcome> play(const load_plan& plan, void (*done)(void* context, std::size_t n),
                          void* context) {
  const auto to = resolve(plan.server);
  if (!to) return fail(to.error());
  player player{plan, *to};
  while (!player.over()) {
    player.step();
    done(context, player.ended());
  }
  return std::move(player).outcome();
}

}  // namespace glimmer
