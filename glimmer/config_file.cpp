#include "glimmer/config_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <caf/actor_system_config.hpp>
#include <caf/config_option_set.hpp>
#include <caf/config_value.hpp>
#include <caf/error.hpp>
#include <caf/message.hpp>
#include <caf/pec.hpp>
#include <caf/settings.hpp>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace glimmer {
namespace {

std::unexpected<error> refuse(std::string text) {
  return fail({error_kind::bad_request, "invalid_config", "", std::move(text)});
}

/// Where the parser stopped, and what it would have read.
std::string syntax_error(const std::string& file, const caf::error& why) {
  std::int64_t line = 0;
  const auto& context = why.context();
  if (context.match_elements<caf::settings>()) {
    line = caf::get_or(context.get_as<caf::settings>(0), "line", line);
  }
  if (why == caf::pec::unexpected_newline) --line;  // it looks back
  return fmt::format(
      "{}:{}: this line cannot be read; allowed are sections as [name], settings as name = value, "
      "and comments that begin with ';'; a value is a number, true, false, \"text\" or a list "
      "[value, value]",
      file, line);
}

std::string word(const caf::config_value& value) {
  if (const auto* text = caf::get_if<std::string>(&value)) return *text;
  if (const auto* flag = caf::get_if<bool>(&value)) return *flag ? "true" : "false";
  return caf::to_string(value);
}

bool is_nested(const caf::config_value& value) {
  return caf::get_if<caf::config_value::list>(&value) != nullptr ||
         caf::get_if<caf::settings>(&value) != nullptr;
}

/// A config value as the words a flag would have had; none if it is deeper than one list.
std::optional<std::vector<std::string>> words(const caf::config_value& value) {
  std::vector<std::string> out;
  if (const auto* list = caf::get_if<caf::config_value::list>(&value)) {
    if (std::ranges::any_of(*list, is_nested)) return std::nullopt;
    std::ranges::transform(*list, std::back_inserter(out), word);
  } else {
    if (is_nested(value)) return std::nullopt;
    out.push_back(word(value));
  }
  return out;
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
    if (!given) return refuse(fmt::format("'{}' takes plain values or a list of them", name));
    if (auto done = apply_option(options, name, *given); !done) return done;
  }
  return {};
}

}  // namespace

result<void> apply_config_file(server_options& options, const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  // A folder opens, and fails only when it is read.
  if (in && in.peek() != std::ifstream::traits_type::eof()) text << in.rdbuf();
  if (!in.is_open() || in.bad() || !text) return refuse(fmt::format("{}: cannot be read", file));
  // The parser takes a null byte for the end of the text.
  if (text.view().find('\0') != std::string_view::npos) {
    return refuse(fmt::format("{}: a null byte stands in it; it is no config file", file));
  }
  std::istringstream whole{text.str() + '\n'};  // an unfinished last line is an error, too
  const auto parsed = caf::actor_system_config::parse_config(whole);
  if (!parsed) return refuse(syntax_error(file, parsed.error()));
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
