#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "engine/engine_state.hpp"

namespace glimmer {

/// Notices when the engine stops making progress, and when it goes on. Not thread-safe.
class watchdog {
 public:
  struct finding {
    bool stuck = false;
    std::string state;  ///< for the log: counts, no text of a request
  };
  /// What is new since the last look, if anything.
  std::optional<finding> look(const engine_state& state, time_point now);

 private:
  bool told_ = false;
};

}  // namespace glimmer
