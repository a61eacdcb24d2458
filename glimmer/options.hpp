#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.hpp"
#include "base/result.hpp"
#include "engine/engine_settings.hpp"
#include "glimmer/visibility.hpp"

namespace glimmer {

/// What the command line and `glimmerd.conf` say. Names and meanings are vLLM's where it has one.
struct server_options {
  // server
  std::string model;  ///< folder, hub id in the local cache, or "" for the embedded default
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;
  std::vector<std::string> served_model_names;  ///< empty: the model as it was given
  std::vector<std::string> api_keys;            ///< empty: no key is asked for
  std::string generation_config = "auto";  ///< auto: the checkpoint's, vllm: neutral, or a folder
  std::optional<std::uint64_t> seed;  ///< of requests that bring none; absent: a fresh one each
  bool half_close_ok = false;         ///< a client that ends its direction still gets its answer
  std::uint32_t drain_seconds = 30;
  std::uint32_t watchdog_seconds = 60;
  std::string log_level = "info";

  std::string script;  ///< file with the turns to play instead of computing; empty: compute

  // actors
  std::uint32_t frontends = 1;
  std::uint32_t tokenizers = 2;  ///< one for long bodies, one for short ones
  std::uint32_t parsers = 1;

  engine_settings engine;
  struct limits limits;

  bool help = false;
  bool version = false;
  /// Every setting that was given, by its name.
  std::map<std::string, std::vector<std::string>, std::less<>> given;
  std::vector<std::string> notes;  ///< what was accepted without an effect here, to be logged
};

/// Reads a command line (without the program's name). A config file named by --config is applied
/// first, so that flags win. Fails with one sentence; an unknown name comes with a suggestion.
GLIMMER_API result<server_options> parse_options(std::span<const std::string> arguments);

/// Applies one setting, as a flag (`name` without dashes) would. Known to the config reader too.
GLIMMER_API result<void> apply_option(server_options& options, std::string_view name,
                                      std::span<const std::string> values);

/// The section of `glimmerd.conf` in which `name` may stand; empty if there is no such setting.
GLIMMER_API std::string_view section_of(std::string_view name);

/// The known name closest to `name`, if any is close enough to be meant.
GLIMMER_API std::optional<std::string_view> closest_option(std::string_view name);

/// What differs between two sets of options and holds only after a restart: names of settings.
GLIMMER_API std::vector<std::string> settings_to_restart_for(const server_options& was,
                                                             const server_options& now);

/// The text of --help.
GLIMMER_API std::string options_help();

}  // namespace glimmer
