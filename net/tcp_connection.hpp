#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/loop.hpp"

namespace glimmer {

/// What a connection tells its owner, on the loop's thread. The owner may destroy the connection
/// inside any of these calls; none comes afterwards.
class tcp_events {
 public:
  virtual ~tcp_events() = default;
  /// Bytes arrived (at most 64 KiB); valid during the call.
  virtual void on_bytes(std::string_view bytes) = 0;
  /// The peer ended its direction; ours still works.
  virtual void on_end() = 0;
  /// The connection failed (reset, broken pipe, timed out); destroy it.
  virtual void on_lost(std::string_view why) = 0;
  /// `unsent` has fallen after having been above zero; `sent` tells how far.
  virtual void on_written() = 0;
  /// A `shut_down` is done: all bytes and our end have left the process.
  virtual void on_shut_down() = 0;
};

/// One accepted TCP socket, with Nagle's delay off. Destroying it closes the socket at once and
/// drops unsent bytes; use `shut_down` first and wait for the peer's end to close gently.
class tcp_connection {
 public:
  struct state;
  /// Used by the listener.
  explicit tcp_connection(state* accepted) : state_{accepted} {}
  ~tcp_connection();
  tcp_connection(const tcp_connection&) = delete;
  tcp_connection& operator=(const tcp_connection&) = delete;

  /// Starts reading; `events` must outlive this object.
  void start(tcp_events& events);

  /// While paused the kernel's buffer fills and the peer stops; its leaving goes unnoticed too,
  /// so pause only above a bound.
  void pause_reading();
  void resume_reading();

  /// Writes what the socket takes now and keeps a copy of the rest. No failure is told from
  /// inside this call: `on_lost` comes later.
  void write(std::string_view bytes);
  /// Bytes kept because the socket did not take them yet.
  std::size_t unsent() const;
  /// Bytes handed to the kernel since the start.
  std::uint64_t sent() const;

  /// Ends our direction after all bytes written so far.
  void shut_down();

  /// Address of the peer, "127.0.0.1:54321" or "[::1]:54321".
  std::string peer() const;

 private:
  state* state_;  // freed by the loop after its close callback
};

}  // namespace glimmer
