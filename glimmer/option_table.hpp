#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "glimmer/options.hpp"

namespace glimmer {

/// One setting: how it is spelled, where it may stand, what it does.
struct option_row {
  enum class arity : std::uint8_t { none, one, many };

  std::string_view name;     ///< without dashes
  std::string_view section;  ///< of glimmerd.conf
  arity takes = arity::one;
  std::string_view meaning;  ///< for --help
  result<void> (*apply)(server_options&, std::span<const std::string>) = nullptr;
  bool live = false;  ///< SIGHUP changes it in a running server
};

/// All settings, in the order of --help.
std::span<const option_row> option_table();

}  // namespace glimmer
