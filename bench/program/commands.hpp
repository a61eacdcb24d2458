#pragma once

#include <span>
#include <string>

namespace glimmer {

// The commands of glimmer-bench. Each takes the words behind its name, writes its figures to
// standard output and returns the exit code: 0, or 2 with a sentence on standard error.

using words = std::span<const std::string>;

int run_ops(words arguments);         ///< each op against what memory and arithmetic allow
int run_model(words arguments);       ///< prefill and decode of a checkpoint, by batch and context
int run_throughput(words arguments);  ///< many requests through the engine, without a server
int run_serve(words arguments);       ///< many requests to an OpenAI server

}  // namespace glimmer
