#include "glimmer/config_file.hpp"

#include <fmt/core.h>

#include <caf/actor_system_config.hpp>
#include <caf/config_option_set.hpp>
#include <caf/config_value.hpp>
#include <caf/settings.hpp>
#include <fstream>
#include <vector>

namespace glimmer {
namespace {

std::unexpected<error> refuse(std::string text) {
  return fail({error_kind::bad_request, "invalid_config", "", std::move(text)});
}

/// A config value as the words a flag would have had.
std::vector<std::string> words(const caf::config_value& value) {
  if (const auto* list = caf::get_if<caf::config_value::list>(&value)) {
    std::vector<std::string> out;
    for (const auto& item : *list) out.push_back(words(item).front());
    return out;
  }
  if (const auto* text = caf::get_if<std::string>(&value)) return {*text};
  if (const auto* flag = caf::get_if<bool>(&value)) return {*flag ? "true" : "false"};
  return {caf::to_string(value)};
}

result<void> apply_section(server_options& options, const std::string& section,
                           const caf::settings& entries) {
  for (const auto& [name, value] : entries) {
    const auto belongs = section_of(name);
    if (belongs.empty()) {
      const auto meant = closest_option(name);
      return refuse(fmt::format("'{}' in section '{}' is not known{}", name, section,
                                meant ? fmt::format("; did you mean '{}'?", *meant) : ""));
    }
    if (belongs != section) {
      return refuse(fmt::format("'{}' belongs to section '{}', not '{}'", name, belongs, section));
    }
    const auto given = words(value);
    if (auto done = apply_option(options, name, given); !done) return done;
  }
  return {};
}

}  // namespace

result<void> apply_config_file(server_options& options, const std::string& file) {
  std::ifstream in{file};
  if (!in) return refuse(fmt::format("{}: cannot be read", file));
  const auto parsed = caf::actor_system_config::parse_config(in);
  if (!parsed) {
    return refuse(fmt::format("{}: {}", file, caf::to_string(parsed.error())));
  }
  for (const auto& [section, value] : *parsed) {
    const auto* entries = caf::get_if<caf::settings>(&value);
    if (entries == nullptr) {
      const auto belongs = section_of(section);
      return refuse(belongs.empty()
                        ? fmt::format("{}: '{}' is not a section", file, section)
                        : fmt::format("{}: '{}' belongs to section '{}'", file, section, belongs));
    }
    if (auto done = apply_section(options, section, *entries); !done) {
      return refuse(fmt::format("{}: {}", file, done.error().text));
    }
  }
  return {};
}

}  // namespace glimmer
