#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "net/loop.hpp"
#include "net/tcp_connection.hpp"

namespace glimmer {

struct listen_address {
  std::string host = "127.0.0.1";  ///< IPv4, IPv6 or a name; empty: every IPv4 interface
  std::uint16_t port = 8000;       ///< 0: any free one
};

struct listen_options {
  listen_address address;
  bool share_port = false;  ///< SO_REUSEPORT: several listeners, the kernel spreads connections
  std::size_t connections_max = 8192;  ///< further ones are accepted and closed at once
  /// Connections that wait to be accepted; the system caps it (net.core.somaxconn, 4096).
  int backlog = 4096;
};

/// Whether a server could listen there alone. Ask once before listeners that share a port: they
/// would silently share it with another process, too. Returns the port (a free one for 0).
result<std::uint16_t> check_port_free(const listen_address& address);

/// A listening socket. Destroying it stops accepting; accepted connections live on.
class tcp_listener {
 public:
  using on_connection = std::function<void(std::unique_ptr<tcp_connection>)>;

  /// Resolves, binds and listens; fails with `unavailable` and a sentence such as "cannot listen
  /// on 127.0.0.1:8000: address already in use".
  static result<std::unique_ptr<tcp_listener>> open(event_loop& loop, const listen_options& options,
                                                    on_connection accept);

  struct state;
  explicit tcp_listener(state* listening) : state_{listening} {}
  ~tcp_listener();
  tcp_listener(const tcp_listener&) = delete;
  tcp_listener& operator=(const tcp_listener&) = delete;

  std::uint16_t port() const;
  /// Connections accepted here that still live.
  std::size_t connections() const;
  /// Connections turned away because there were too many (or no file descriptors left).
  std::uint64_t refused() const;

 private:
  state* state_;  // freed by the loop after its close callback
};

}  // namespace glimmer
