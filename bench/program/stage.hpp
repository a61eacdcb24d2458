#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "bench/program/measure.hpp"
#include "gpu/device.hpp"
#include "gpu/ops.hpp"

namespace glimmer {

/// A device with one stream, and tensors that live as long as it does.
class bench_stage {
 public:
  explicit bench_stage(std::unique_ptr<device> home);

  device& home() { return *home_; }
  ops& op() { return home_->operations(); }
  stream_handle stream() const { return stream_; }

  tensor make(tensor_shape shape, dtype type);
  /// Values of small magnitude, any signs.
  tensor make_random(tensor_shape shape, dtype type);
  tensor make_ids(const std::vector<std::int32_t>& ids, tensor_shape shape);
  /// A matrix of random weights, in the format `type`.
  packed_matrix make_matrix(matrix_extent extent, dtype type);
  /// Forgets all tensors.
  void clear();

  /// Median seconds of what `queue` queues, until it is done.
  template <class Queue>
  double seconds(const measuring& how, const Queue& queue) {
    return how.median_seconds([&] {
      queue();
      home_->wait(home_->record(stream_));
    });
  }

 private:
  std::unique_ptr<device> home_;
  stream_handle stream_;
  std::deque<device_buffer> buffers_;
};

}  // namespace glimmer
