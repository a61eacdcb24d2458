#pragma once

#include <string_view>

#include "base/result.hpp"
#include "engine/engine_settings.hpp"

namespace glimmer {

/// Reads the value of --speculative-config, a JSON object as vLLM takes it:
///
///     {"method": "dflash", "model": "folder or hub id", "num_speculative_tokens": 15}
///
/// and beside these "adaptive" (a boolean) and "acceptance_floor" (a number from 1 on). Every key
/// has an effect: an unknown one is refused, and so is a method that is not there.
result<drafter_settings> parse_speculative_config(std::string_view text);

}  // namespace glimmer
