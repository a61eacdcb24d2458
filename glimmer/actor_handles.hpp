#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "glimmer/engine.hpp"

namespace glimmer {

/// Like `engine::load`, but the actors live in `system`, which must outlive the engine. For
/// services that are CAF programs themselves; the one public header with CAF's types. Destroy the
/// engine from a thread of your own or a detached actor: it waits for its actors to go.
GLIMMER_API result<std::unique_ptr<engine>> load_engine(
    caf::actor_system& system, const server_options& options, engine_events events,
    engine::with_http http = engine::with_http::no);

/// The engine's supervisor, to be monitored by the host's own actors.
GLIMMER_API caf::actor supervisor_of(const engine& which);

}  // namespace glimmer
