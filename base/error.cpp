#include "base/error.hpp"

#include <utility>

namespace glimmer {

std::string_view to_string(error_kind kind) {
  switch (kind) {
    case error_kind::bad_request: return "bad_request";
    case error_kind::not_found: return "not_found";
    case error_kind::overloaded: return "overloaded";
    case error_kind::unavailable: return "unavailable";
    case error_kind::device: return "device";
    case error_kind::bug: return "bug";
  }
  return "bug";
}

error bad_value(std::string_view param, std::string text) {
  return {error_kind::bad_request, "invalid_value", std::string{param}, std::move(text)};
}

}  // namespace glimmer
