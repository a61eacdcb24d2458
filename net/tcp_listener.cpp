#include "net/tcp_listener.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "net/handle.hpp"
#include "net/tcp_state.hpp"

namespace glimmer {
namespace {

/// An address as the system wants it.
struct socket_address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family() const { return storage.ss_family; }
  const sockaddr* plain() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::string spelled(const listen_address& address) {
  const bool six = address.host.find(':') != std::string::npos;
  const auto host = six ? "[" + address.host + "]" : address.host;
  return (host.empty() ? "0.0.0.0" : host) + ":" + std::to_string(address.port);
}

std::unexpected<error> cannot_listen(const listen_address& address, std::string_view why) {
  return fail({error_kind::unavailable, "cannot_listen", "host",
               "cannot listen on " + spelled(address) + ": " + std::string{why}});
}

/// Blocking, at start only. A name with both kinds of address means its IPv4 one.
result<socket_address> resolve(const listen_address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  const auto host = address.host.empty() ? std::string{"0.0.0.0"} : address.host;
  addrinfo* list = nullptr;
  if (const int failed =
          getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
      failed != 0) {
    return cannot_listen(address, "the host has no address");
  }
  const auto* chosen = list;
  for (const auto* each = list; each; each = each->ai_next) {
    if (each->ai_family != AF_INET) continue;
    chosen = each;
    break;
  }
  socket_address found;
  found.size = chosen->ai_addrlen;
  std::copy_n(reinterpret_cast<const char*>(chosen->ai_addr), chosen->ai_addrlen,
              reinterpret_cast<char*>(&found.storage));
  freeaddrinfo(list);
  return found;
}

std::uint16_t port_of(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// A socket that may be bound where others of the process are; -1 and errno on failure. The
/// event library of Debian 12 cannot ask for a shared port itself.
int open_socket(const socket_address& address, bool share_port) {
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (fd >= 0 && share_port) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes);
  return fd;
}

}  // namespace

result<std::uint16_t> check_port_free(const listen_address& address) {
  const auto resolved = resolve(address);
  if (!resolved) return fail(resolved.error());
  const int fd = open_socket(*resolved, false);
  if (fd < 0) return cannot_listen(address, uv_strerror(uv_translate_sys_error(errno)));
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  const bool free = bind(fd, resolved->plain(), resolved->size) == 0 && listen(fd, 1) == 0 &&
                    getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) == 0;
  const int why = errno;
  close(fd);
  if (!free) return cannot_listen(address, uv_strerror(uv_translate_sys_error(why)));
  return port_of(bound);
}

struct tcp_listener::state {
  uv_tcp_t handle{};
  on_connection accept;
  std::size_t connections_max = 0;
  std::uint64_t refused = 0;
  std::shared_ptr<connection_count> count = std::make_shared<connection_count>();

  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&handle); }

  int listen_at(const socket_address& address, const listen_options& options) {
    const int fd = open_socket(address, options.share_port);
    if (fd < 0) return uv_translate_sys_error(errno);
    if (const int failed = uv_tcp_open(&handle, fd); failed != 0) {
      close(fd);
      return failed;
    }
    if (const int failed = uv_tcp_bind(&handle, address.plain(), 0); failed != 0) return failed;
    return uv_listen(stream(), options.backlog, [](uv_stream_t* listening, int status) {
      static_cast<state*>(listening->data)->take_connection(status);
    });
  }

  void take_connection(int status) {
    if (status < 0) {
      ++refused;  // no descriptor left: the library has closed the newcomer
      return;
    }
    auto* taken = new tcp_connection::state{count};
    uv_tcp_init(handle.loop, &taken->handle);
    taken->handle.data = taken;
    auto connection = std::make_unique<tcp_connection>(taken);  // closes unless handed on
    if (uv_accept(stream(), taken->stream()) != 0) return;
    if (count->living > connections_max) {
      ++refused;
      return;
    }
    uv_tcp_nodelay(&taken->handle, 1);
    accept(std::move(connection));
  }
};

result<std::unique_ptr<tcp_listener>> tcp_listener::open(event_loop& loop,
                                                         const listen_options& options,
                                                         on_connection accept) {
  const auto resolved = resolve(options.address);
  if (!resolved) return fail(resolved.error());
  auto* made = new state;
  uv_tcp_init(loop.raw(), &made->handle);
  made->handle.data = made;
  made->accept = std::move(accept);
  made->connections_max = options.connections_max;
  auto listener = std::make_unique<tcp_listener>(made);  // closes on failure, too
  if (const int failed = made->listen_at(*resolved, options); failed != 0) {
    return cannot_listen(options.address, uv_strerror(failed));
  }
  return listener;
}

tcp_listener::~tcp_listener() {
  detail::close_and_free(state_);
}

std::uint16_t tcp_listener::port() const {
  sockaddr_storage bound{};
  int size = sizeof bound;
  uv_tcp_getsockname(&state_->handle, reinterpret_cast<sockaddr*>(&bound), &size);
  return port_of(bound);
}

std::size_t tcp_listener::connections() const {
  return state_->count->living;
}
std::uint64_t tcp_listener::refused() const {
  return state_->refused;
}

}  // namespace glimmer
