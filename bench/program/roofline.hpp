#pragma once

#include <vector>

#include "bench/program/measure.hpp"
#include "bench/program/report.hpp"
#include "gpu/device.hpp"

namespace glimmer {

/// What the machine gives at most, measured on the device's own threads.
struct roofline {
  double bytes_per_second = 0;       ///< reading memory, all threads
  double flops_per_second = 0;       ///< f32 fused multiply-adds (2 each) in registers, all threads
  double vnni_per_second = 0;        ///< likewise `vpdpbusd` of bytes; 0 without it
  double tile_pairs_per_second = 0;  ///< likewise tiles of bf16
  double tile_bytes_per_second = 0;  ///< likewise tiles of bytes

  /// Seconds that work takes at least.
  struct work {
    double bytes = 0;
    double flops = 0;
  };
  double seconds(const work& w) const;
  /// Whether memory is what bounds it.
  bool memory_binds(const work& w) const;
  /// The line of a report that says what was measured.
  std::vector<figure> figures() const;
};

/// Medians, with the widest vectors and all units that the processor has. The clock's threads are
/// the device's.
roofline measure_roofline(device& home, const measuring& how);

}  // namespace glimmer
