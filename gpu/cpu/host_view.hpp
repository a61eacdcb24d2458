#pragma once

#include "gpu/cpu/elements.hpp"
#include "gpu/tensor.hpp"

namespace glimmer {

// On the CPU device an address is a pointer.

template <class T>
T* host(const tensor& t) {
  return reinterpret_cast<T*>(t.data.address);
}

inline std::byte* host_at(const tensor& t, std::int64_t element) {
  return host<std::byte>(t) + static_cast<std::size_t>(element) * size_of(t.type);
}

inline elements elements_at(const tensor& t, std::int64_t element) {
  return {.data = host_at(t, element), .type = t.type};
}

inline const_elements const_elements_at(const tensor& t, std::int64_t element) {
  return {.data = host_at(t, element), .type = t.type};
}

}  // namespace glimmer
