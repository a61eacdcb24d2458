#pragma once

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "net/tcp_connection.hpp"

namespace glimmer {

/// Counts the connections of one listener that live; shared, because they may outlive it.
struct connection_count {
  std::size_t living = 0;
};

/// Inside of a connection, for this room alone. Output goes through two buffers: `in_flight` is
/// being written by the loop, `waiting` gathers what comes meanwhile; then they swap.
struct tcp_connection::state {
  explicit state(std::shared_ptr<connection_count> counter) : count{std::move(counter)} {
    ++count->living;
  }
  ~state() { --count->living; }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  uv_tcp_t handle{};
  std::shared_ptr<connection_count> count;
  tcp_events* events = nullptr;  // null: nobody listens (not started, lost, or being closed)
  bool reading = false;
  bool ended = false;  // the peer's direction
  bool lost = false;

  uv_write_t write_request{};
  uv_shutdown_t shut_down_request{};
  std::string in_flight;
  std::size_t in_flight_done = 0;
  bool writing = false;
  std::string waiting;
  std::uint64_t sent = 0;
  bool shut_down_wanted = false;

  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&handle); }
};

}  // namespace glimmer
