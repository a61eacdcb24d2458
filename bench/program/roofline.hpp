#pragma once

#include "bench/program/measure.hpp"
#include "gpu/device.hpp"

namespace glimmer {

/// What the machine gives at most, measured on the device's own threads.
struct roofline {
  double bytes_per_second = 0;  ///< reading memory, all threads
  double flops_per_second = 0;  ///< f32 fused multiply-adds (2 each) in registers, all threads

  /// Seconds that work takes at least.
  struct work {
    double bytes = 0;
    double flops = 0;
  };
  double seconds(const work& w) const;
  /// Whether memory is what bounds it.
  bool memory_binds(const work& w) const;
};

/// Medians, with the widest vectors that the processor has. The clock's threads are the device's.
roofline measure_roofline(device& home, const measuring& how);

}  // namespace glimmer
