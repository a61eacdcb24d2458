#pragma once

#include <string>

#include "base/result.hpp"
#include "glimmer/options.hpp"

namespace glimmer {

/// Applies a `glimmerd.conf` (CAF's own configuration format: sections of `name = value`). Every
/// key must be a setting of `option_table` standing in its section; an unknown key is refused with
/// a suggestion, an unreadable file or line with its place.
result<void> apply_config_file(server_options& options, const std::string& file);

}  // namespace glimmer
