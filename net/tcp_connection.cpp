#include "net/tcp_connection.hpp"

#include <netinet/in.h>

#include <algorithm>

#include "net/handle.hpp"
#include "net/loop_state.hpp"
#include "net/tcp_state.hpp"

namespace glimmer {
namespace {

using state = tcp_connection::state;

/// Bytes of one asynchronous write, after which progress is told.
constexpr std::size_t write_slice_bytes = 64 << 10;
/// An output buffer that grew larger is given back once it is empty.
constexpr std::size_t kept_capacity = 64 << 10;

void tell_lost(state& self, int why) {
  self.lost = true;
  if (auto* events = std::exchange(self.events, nullptr)) events->on_lost(uv_strerror(why));
}

// ---- reading -----------------------------------------------------------------------------------

void give_buffer(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
  auto& bytes = static_cast<event_loop::state*>(handle->loop->data)->read_buffer;
  *buffer = uv_buf_init(bytes.data(), static_cast<unsigned>(bytes.size()));
}

void take_bytes(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
  auto& self = *static_cast<state*>(stream->data);
  if (!self.events || size == 0) return;
  if (size > 0) {
    self.events->on_bytes({buffer->base, static_cast<std::size_t>(size)});
  } else if (size == UV_EOF) {
    self.ended = true;
    self.events->on_end();
  } else {
    tell_lost(self, static_cast<int>(size));
  }
}

// ---- writing -----------------------------------------------------------------------------------

void on_slice_written(uv_write_t* request, int status);

void begin_shut_down(state& self) {
  uv_shutdown(&self.shut_down_request, self.stream(), [](uv_shutdown_t* request, int status) {
    auto& done = *static_cast<state*>(request->handle->data);
    if (!done.events) return;
    if (status < 0) return tell_lost(done, status);
    done.events->on_shut_down();
  });
}

std::size_t slice_size(const state& self) {
  return std::min(write_slice_bytes, self.in_flight.size() - self.in_flight_done);
}

/// A failure, even one met at once, is told from the loop through the request's callback.
void write_slice(state& self) {
  const auto slice = uv_buf_init(self.in_flight.data() + self.in_flight_done,
                                 static_cast<unsigned>(slice_size(self)));
  self.writing = uv_write(&self.write_request, self.stream(), &slice, 1, on_slice_written) == 0;
}

/// Goes on with what is left: the rest in flight, then what waited.
void write_rest(state& self) {
  self.writing = false;
  if (self.in_flight_done == self.in_flight.size()) {
    self.in_flight.clear();
    self.in_flight_done = 0;
    if (self.in_flight.capacity() > kept_capacity) std::string{}.swap(self.in_flight);
    self.in_flight.swap(self.waiting);
  }
  if (!self.in_flight.empty()) {
    write_slice(self);
  } else if (self.shut_down_wanted) {
    begin_shut_down(self);
  }
}

void on_slice_written(uv_write_t* request, int status) {
  auto& self = *static_cast<state*>(request->handle->data);
  if (uv_is_closing(reinterpret_cast<uv_handle_t*>(request->handle))) return;
  if (status < 0) return tell_lost(self, status);
  const auto size = slice_size(self);
  self.in_flight_done += size;
  self.sent += size;
  write_rest(self);
  if (self.events) self.events->on_written();
}

}  // namespace

tcp_connection::~tcp_connection() {
  state_->events = nullptr;
  detail::close_and_free(state_);
}

void tcp_connection::start(tcp_events& events) {
  state_->events = &events;
  resume_reading();
}

void tcp_connection::pause_reading() {
  if (!std::exchange(state_->reading, false)) return;
  uv_read_stop(state_->stream());
}

void tcp_connection::resume_reading() {
  if (state_->ended || state_->lost || std::exchange(state_->reading, true)) return;
  uv_read_start(state_->stream(), give_buffer, take_bytes);
}

void tcp_connection::write(std::string_view bytes) {
  auto& self = *state_;
  if (bytes.empty() || self.lost || self.shut_down_wanted) return;
  if (self.writing) {
    self.waiting += bytes;
    return;
  }
  const auto buffer =
      uv_buf_init(const_cast<char*>(bytes.data()), static_cast<unsigned>(bytes.size()));
  if (const int taken = uv_try_write(self.stream(), &buffer, 1); taken > 0) {
    self.sent += static_cast<std::size_t>(taken);
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
  if (bytes.empty()) return;
  self.in_flight = bytes;
  self.in_flight_done = 0;
  write_slice(self);
}

std::size_t tcp_connection::unsent() const {
  return state_->in_flight.size() - state_->in_flight_done + state_->waiting.size();
}

std::uint64_t tcp_connection::sent() const {
  return state_->sent;
}

void tcp_connection::shut_down() {
  if (state_->lost || std::exchange(state_->shut_down_wanted, true)) return;
  if (!state_->writing) begin_shut_down(*state_);
}

std::string tcp_connection::peer() const {
  sockaddr_storage address{};
  int size = sizeof address;
  const auto* plain = reinterpret_cast<sockaddr*>(&address);
  if (uv_tcp_getpeername(&state_->handle, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "unknown";
  }
  char name[INET6_ADDRSTRLEN] = {};
  if (plain->sa_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(&address);
    uv_ip6_name(six, name, sizeof name);
    return "[" + std::string{name} + "]:" + std::to_string(ntohs(six->sin6_port));
  }
  const auto* four = reinterpret_cast<const sockaddr_in*>(&address);
  uv_ip4_name(four, name, sizeof name);
  return std::string{name} + ":" + std::to_string(ntohs(four->sin_port));
}

}  // namespace glimmer
