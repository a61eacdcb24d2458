#include "executor/int_arrays.hpp"

#include <algorithm>
#include <utility>

namespace glimmer {

array_place int_arrays::reserve(std::size_t count) {
  constexpr std::size_t alignment = 64 / sizeof(std::int32_t);
  const auto begin = (ints.size() + alignment - 1) / alignment * alignment;
  ints.resize(begin + count);
  return {begin, count};
}

result<void> int_upload::send(device& home, stream_handle s, const int_arrays& arrays) {
  const auto bytes = std::as_bytes(std::span{arrays.ints});
  if (buffer_.bytes() < bytes.size()) {
    home.wait(home.record(s));  // the old buffer may still be read
    auto larger = home.allocate(std::max(bytes.size(), 2 * buffer_.bytes()));
    if (!larger) return fail(larger.error());
    buffer_ = std::move(*larger);
  }
  if (!bytes.empty()) home.upload(s, buffer_.view(dtype::u8, {std::ssize(bytes)}), bytes);
  return {};
}

tensor int_upload::view(array_place p) const {
  return buffer_.view(dtype::i32, {static_cast<std::int64_t>(p.count)},
                      p.begin * sizeof(std::int32_t));
}

}  // namespace glimmer
