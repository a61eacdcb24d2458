#pragma once

#include <expected>
#include <utility>

#include "base/error.hpp"

namespace glimmer {

/// What a fallible call returns across a room's border: a value or an error, never an exception.
template <class T>
using result = std::expected<T, error>;

/// `return fail(bad_value(...));` in a function that returns a result.
inline std::unexpected<error> fail(error e) {
  return std::unexpected<error>{std::move(e)};
}

}  // namespace glimmer
