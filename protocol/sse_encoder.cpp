#include "protocol/sse_encoder.hpp"

namespace glimmer {

void append_sse_event(std::string& out, std::string_view payload) {
  while (true) {
    const auto end = payload.find('\n');
    out += "data: ";
    out += payload.substr(0, end);
    out += '\n';
    if (end == std::string_view::npos) break;
    payload.remove_prefix(end + 1);
  }
  out += '\n';
}

}  // namespace glimmer
