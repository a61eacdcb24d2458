#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/log.hpp"
#include "base/result.hpp"
#include "engine/front_desk.hpp"
#include "net/tcp_listener.hpp"

namespace glimmer {

/// What a frontend needs to live.
struct frontend_setup {
  desk_config desk;
  listen_options listen;
  std::vector<caf::actor> tokenizers;
  caf::actor scheduler;
  caf::actor supervisor;
  event_log log;
  std::uint32_t index = 0;
};

/// An API server: a thread with its own event loop and listening socket, and an actor on it. All
/// decisions are `front_desk`'s; here bytes and messages are carried.
class frontend {
 public:
  /// Starts the thread and waits until it listens, or fails with the reason.
  static result<std::unique_ptr<frontend>> start(caf::actor_system& system, frontend_setup setup);
  /// Ends the loop and waits for the thread.
  ~frontend();
  frontend(const frontend&) = delete;
  frontend& operator=(const frontend&) = delete;

  const caf::actor& handle() const { return handle_; }
  std::uint16_t port() const { return port_; }

 private:
  frontend() = default;
  caf::actor handle_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace glimmer
