#include "gpu/device.hpp"

#include <utility>

namespace glimmer {

device_buffer::device_buffer(device& home, device_pointer data, std::size_t bytes)
    : home_(&home), data_(data), bytes_(bytes) {}

device_buffer::~device_buffer() {
  if (home_ != nullptr) home_->release(data_, bytes_);
}

device_buffer::device_buffer(device_buffer&& other) noexcept
    : home_(std::exchange(other.home_, nullptr)),
      data_(std::exchange(other.data_, {})),
      bytes_(std::exchange(other.bytes_, 0)) {}

device_buffer& device_buffer::operator=(device_buffer&& other) noexcept {
  std::swap(home_, other.home_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

tensor device_buffer::view(dtype type, tensor_shape shape, std::size_t byte_offset) const {
  const tensor t{.data = {data_.address + byte_offset}, .shape = shape, .type = type};
  GLIMMER_ASSERT(byte_offset % 64 == 0, "views start at 64-byte boundaries");
  GLIMMER_ASSERT(shape.count() >= 0 && byte_offset <= bytes_ && t.bytes() <= bytes_ - byte_offset,
                 "a view lies inside its buffer");
  return t;
}

}  // namespace glimmer
