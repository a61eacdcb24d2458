#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "gpu/device.hpp"

namespace glimmer {

/// Where one int array lies among others.
struct array_place {
  std::size_t begin = 0;
  std::size_t count = 0;
};

/// Int arrays in host memory, one behind the other, each at a multiple of 64 bytes, so that one
/// upload carries them all.
struct int_arrays {
  std::vector<std::int32_t> ints;

  /// Makes room for one more, filled with 0.
  array_place reserve(std::size_t count);
  std::int32_t* data(array_place p) { return ints.data() + p.begin; }
  std::span<const std::int32_t> values(array_place p) const {
    return std::span{ints}.subspan(p.begin, p.count);
  }
};

/// The device's copy of such arrays. Memory grows to the most there ever was and is used again.
class int_upload {
 public:
  /// Queues the upload on `s`; earlier work on other streams must be done. Fails when device memory
  /// for more than before is short.
  result<void> send(device& home, stream_handle s, const int_arrays& arrays);
  /// The array's copy, i32 [count]; lives until the next `send`.
  tensor view(array_place p) const;

 private:
  device_buffer buffer_;
};

}  // namespace glimmer
