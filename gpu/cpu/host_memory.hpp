#pragma once

#include <cstddef>

namespace glimmer {

/// Memory of the machine, or of the control group this process lives in when that is smaller.
struct host_memory {
  std::size_t total = 0;
  std::size_t available = 0;  ///< what new allocations may take without swapping
};
host_memory read_host_memory();

/// 64-byte aligned memory, pages of its own (and huge ones, if the kernel likes) when large.
/// Null when there is none.
void* take_host_memory(std::size_t bytes);
void return_host_memory(void* data, std::size_t bytes) noexcept;

}  // namespace glimmer
