#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "net/loop.hpp"

namespace glimmer {

/// Turns the loop until `reached` holds. No clock: bounded by turns, each of which waits for an
/// event when the test expects one from outside.
template <class Condition>
bool drive(event_loop& loop, Condition reached, int turns = 200'000) {
  for (; turns > 0 && !reached(); --turns) loop.poll();
  return reached();
}

/// A plain client socket on 127.0.0.1 that never blocks.
class test_client {
 public:
  explicit test_client(std::uint16_t port) : fd_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~test_client() {
    if (fd_ >= 0) ::close(fd_);
  }
  test_client(test_client&& other) noexcept
      : fd_{std::exchange(other.fd_, -1)}, got_{std::move(other.got_)}, ended_{other.ended_} {}

  void send(std::string_view bytes) {
    BOOST_REQUIRE(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                  static_cast<ssize_t>(bytes.size()));
  }
  /// As much as fits.
  std::size_t send_some(std::string_view bytes) {
    const auto taken = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return taken > 0 ? static_cast<std::size_t>(taken) : 0;
  }
  void end_output() { shutdown(fd_, SHUT_WR); }
  void close() { ::close(std::exchange(fd_, -1)); }
  /// Leaves with a reset instead of an end.
  void reset() {
    const linger at_once{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  /// Takes what has arrived; returns everything so far.
  const std::string& read() {
    char bytes[65536];
    for (;;) {
      const auto size = recv(fd_, bytes, sizeof bytes, 0);
      if (size > 0) {
        got_.append(bytes, static_cast<std::size_t>(size));
      } else {
        if (size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) ended_ = true;
        return got_;
      }
    }
  }
  bool ended() {
    read();
    return ended_;
  }

 private:
  int fd_;
  std::string got_;
  bool ended_ = false;
};

}  // namespace glimmer
