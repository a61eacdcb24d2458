#include "scheduler/sequence_output.hpp"

namespace glimmer {

std::string_view to_string(end_cause cause) {
  switch (cause) {
    case end_cause::stop_token: return "stop_token";
    case end_cause::length: return "length";
    case end_cause::stop_string: return "stop_string";
    case end_cause::cancelled: return "cancelled";
    case end_cause::deadline: return "deadline";
    case end_cause::error: return "error";
  }
  return "unknown";
}

std::string_view to_string(cancel_reason reason) {
  switch (reason) {
    case cancel_reason::gone: return "gone";
    case cancel_reason::deadline: return "deadline";
    case cancel_reason::abort: return "abort";
    case cancel_reason::parked: return "parked";
    case cancel_reason::shutdown: return "shutdown";
    case cancel_reason::sibling: return "sibling";
  }
  return "unknown";
}

}  // namespace glimmer
