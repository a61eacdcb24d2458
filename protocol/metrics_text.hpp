#pragma once

#include <string>
#include <string_view>

#include "protocol/metrics.hpp"

namespace glimmer {

/// Content type of the Prometheus text format.
inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// Renders all series in the Prometheus text format 0.0.4, grouped by metric in the order of the
/// table. `shared` labels (model_name, engine) are put before each vLLM-named series' own.
std::string metrics_text(const metrics& values, const metric_labels& shared = {});

}  // namespace glimmer
