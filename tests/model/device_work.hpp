#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.hpp"
#include "gpu/device.hpp"

namespace glimmer {

/// A stream of a device for tests, with the lists that its work reads. The last member of a rig:
/// it waits for what is queued before the memory that this uses goes.
class device_work {
 public:
  explicit device_work(device& home) : home_{&home}, stream_{home.make_stream()} {}
  ~device_work() { wait(); }
  device_work(const device_work&) = delete;
  device_work& operator=(const device_work&) = delete;

  stream_handle stream() const { return stream_; }
  void wait() { home_->wait(home_->record(stream_)); }

  /// An i32 tensor that lives until `clear`.
  tensor put(const std::vector<std::int32_t>& values, tensor_shape shape) {
    auto buffer = home_->allocate(std::max<std::size_t>(values.size(), 1) * sizeof(std::int32_t));
    GLIMMER_ASSERT(buffer.has_value(), "there is memory for a list");
    const auto to = buffer->view(dtype::i32, shape);
    home_->upload(stream_, to, std::as_bytes(std::span{values}));
    lists_.push_back(std::move(*buffer));
    return to;
  }

  /// The values of an f32 or bf16 tensor, when all that was queued is done.
  std::vector<float> get(tensor t) {
    std::vector<std::byte> bytes(t.bytes());
    home_->download(stream_, bytes, t);
    wait();
    std::vector<float> out(static_cast<std::size_t>(t.count()));
    const auto width = size_of(t.type);
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::uint32_t bits = 0;
      std::copy_n(bytes.data() + i * width, width, reinterpret_cast<std::byte*>(&bits));
      out[i] = std::bit_cast<float>(t.type == dtype::bf16 ? bits << 16 : bits);
    }
    return out;
  }

  void clear() {
    wait();
    lists_.clear();
  }

 private:
  device* home_;
  stream_handle stream_;
  std::vector<device_buffer> lists_;
};

}  // namespace glimmer
