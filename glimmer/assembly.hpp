#pragma once

#include <string>

#include "actors/crew.hpp"
#include "base/result.hpp"
#include "glimmer/engine.hpp"
#include "glimmer/options.hpp"

namespace glimmer {

/// What stands before any actor does: a checked checkpoint and everything derived from it.
struct assembly {
  crew_plan plan;
  std::string model_name;
};

/// Opens the checkpoint's headers and the tokenizer, derives all sizes, and plans the crew. Reads
/// no weights: that is `plan.load_stepper`'s, on the executor's thread.
result<assembly> assemble(const server_options& options, engine_events events,
                          engine::with_http http);

/// What of the options may change while the server runs.
server_rules rules_of(const server_options& options);

/// The folder of the model that comes with the daemon: beside the executable or installed.
result<std::string> embedded_model();

}  // namespace glimmer
