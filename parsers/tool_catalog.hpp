#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.hpp"
#include "base/request.hpp"

namespace glimmer {

/// The functions a turn may call. Immutable after construction; any thread may read.
class tool_catalog {
 public:
  /// `allowed` is false when the client wants no calls; without tools there are none anyway.
  tool_catalog(const std::vector<tool_definition>& tools, bool allowed);

  bool calls_allowed() const { return allowed_ && !tools_.empty(); }

  /// A name of the model, resolved.
  struct match {
    const tool_definition* tool = nullptr;  ///< null when nothing declared fits
    std::string_view rest;                  ///< behind the declared head, e.g. "filePath"
  };
  /// First that applies: the same name; `x.x` for x; `h.rest` with rest declared in namespace h; a
  /// generic prefix such as "functions."; the longest declared head at a dot. Never a suffix.
  match resolve(std::string_view name) const;

 private:
  struct text_hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  const tool_definition* find(std::string_view name) const;

  std::vector<tool_definition> tools_;
  std::unordered_map<std::string, std::size_t, text_hash, std::equal_to<>> by_name_;
  bool allowed_;
};

/// The schema of a tool's parameter `key`; nullopt when nothing is said about it.
std::optional<json> parameter_schema(const tool_definition& tool, std::string_view key);
/// The tool declares `key` by name.
bool declares_parameter(const tool_definition& tool, std::string_view key);

}  // namespace glimmer
