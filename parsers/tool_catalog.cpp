#include "parsers/tool_catalog.hpp"

#include "parsers/value_schema.hpp"

namespace glimmer {

namespace {

constexpr std::string_view generic_prefixes[] = {"functions.", "tools.", "default.",
                                                 "default_api."};

/// Up to the first dot; the whole name if there is none.
std::string_view namespace_of(std::string_view name) {
  return name.substr(0, name.find('.'));
}

/// x, if `name` is `x.x`.
std::string_view halved(std::string_view name) {
  const std::size_t half = name.size() / 2;
  if (name.size() % 2 == 0 || name[half] != '.') return {};
  return name.substr(0, half) == name.substr(half + 1) ? name.substr(0, half) : std::string_view{};
}

}  // namespace

tool_catalog::tool_catalog(const std::vector<tool_definition>& tools, bool allowed)
    : tools_{tools}, allowed_{allowed} {
  for (std::size_t i = 0; i < tools_.size(); ++i) by_name_.emplace(tools_[i].name, i);
}

const tool_definition* tool_catalog::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tools_[found->second];
}

tool_catalog::match tool_catalog::resolve(std::string_view name) const {
  if (const auto* tool = find(name)) return {tool, {}};
  if (const auto* tool = find(halved(name))) return {tool, {}};

  if (const std::size_t dot = name.find('.'); dot != name.npos) {
    const std::string_view rest = name.substr(dot + 1);
    const auto* tool = find(rest);
    if (tool != nullptr && namespace_of(rest) == name.substr(0, dot)) return {tool, {}};
  }
  for (std::string_view prefix : generic_prefixes) {
    if (!name.starts_with(prefix)) continue;
    if (const auto* tool = find(name.substr(prefix.size()))) return {tool, {}};
  }
  for (std::size_t dot = name.rfind('.'); dot != name.npos && dot > 0;
       dot = name.rfind('.', dot - 1)) {
    if (const auto* tool = find(name.substr(0, dot))) return {tool, name.substr(dot + 1)};
  }
  return {};
}

}  // namespace glimmer
