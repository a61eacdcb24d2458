#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"

namespace glimmer {

/// One served name.
struct model_entry {
  std::string id;
  std::string root;  ///< where the checkpoint came from: a hub id or a folder's name
  std::uint32_t context_tokens = 0;
  unix_seconds created = 0;
};

/// Body of GET /v1/models.
std::string models_body(std::span<const model_entry> models);

/// Body of GET /version.
std::string version_body(std::string_view version);

}  // namespace glimmer
