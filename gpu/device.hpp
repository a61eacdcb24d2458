#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/result.hpp"
#include "gpu/tensor.hpp"

namespace glimmer {

class device;
class ops;

/// Device memory that frees itself. Freed only after every stream passed its last use: the owner
/// synchronises first.
class device_buffer {
 public:
  device_buffer() = default;
  device_buffer(device& home, device_pointer data, std::size_t bytes);
  ~device_buffer();
  device_buffer(device_buffer&& other) noexcept;
  device_buffer& operator=(device_buffer&& other) noexcept;

  std::size_t bytes() const { return bytes_; }
  /// A view of `shape` elements of `type`, `byte_offset` bytes in (64-byte aligned).
  tensor view(dtype type, tensor_shape shape, std::size_t byte_offset = 0) const;

 private:
  device* home_ = nullptr;
  device_pointer data_;
  std::size_t bytes_ = 0;
};

/// A queue of device work, executed in order; handles are small integers of one device.
struct stream_handle {
  std::uint32_t index = 0;
};
/// A mark in a stream. Waiting for it waits for all work queued before it.
struct event_handle {
  std::uint64_t ticket = 0;
  stream_handle stream;
};

/// What a device is, for logs and for sizing.
struct device_info {
  std::string name;          ///< e.g. "cpu avx512_bf16, 2 threads"
  std::size_t memory_bytes;  ///< all of it
  std::size_t free_bytes;    ///< at the time of asking
};

/// One CPU, NVIDIA or AMD device. All calls from one thread (the executor's), except where said.
/// Work is asynchronous: calls queue and return; only `wait` blocks.
class device {
 public:
  virtual ~device() = default;

  virtual device_info info() const = 0;
  /// 64-byte aligned; contents undefined. Fails with kind `device` when memory is short.
  virtual result<device_buffer> allocate(std::size_t bytes) = 0;

  virtual stream_handle make_stream() = 0;
  virtual event_handle record(stream_handle s) = 0;
  virtual bool reached(event_handle e) const = 0;  ///< any thread
  virtual void wait(event_handle e) = 0;           ///< blocks the caller; any thread

  /// Queues a copy to the device. `from` is taken over before the call returns.
  virtual void upload(stream_handle s, tensor to, std::span<const std::byte> from) = 0;
  /// Queues a copy to the host; `to` is filled once an event recorded afterwards is reached and
  /// must live until then.
  virtual void download(stream_handle s, std::span<std::byte> to, tensor from) = 0;

  virtual ops& operations() = 0;

  /// Runs `tasks` calls of `body(index)` on the host threads that belong to this device (the
  /// compute arena on the CPU) and returns when all are done. For host-side work of the executor
  /// (sampling); the order of calls is not defined.
  virtual void for_each(std::size_t tasks, const std::function<void(std::size_t)>& body) = 0;

 private:
  friend class device_buffer;
  virtual void release(device_pointer data, std::size_t bytes) noexcept = 0;
};

}  // namespace glimmer
