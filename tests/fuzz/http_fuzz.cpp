// Any bytes through the HTTP parser: the same requests for every cut.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assert.hpp"
#include "protocol/http_parser.hpp"

namespace glimmer {
namespace {

limits small() {
  limits out;
  out.http_header_bytes = 4096;
  out.http_header_fields = 16;
  out.http_body_bytes = 4096;
  return out;
}

/// What a connection would see, in words, when the bytes come `step` at a time.
std::string told(std::string_view input, std::size_t step) {
  http_parser parser{small()};
  std::string out;
  while (!input.empty()) {
    auto piece = input.substr(0, step);
    input.remove_prefix(piece.size());
    for (bool more = true; more;) {
      switch (parser.next(piece)) {
        case http_event::need_more: more = false; break;
        case http_event::head:
          out += std::string{parser.head().method()} + ' ' + std::string{parser.head().path()};
          break;
        case http_event::body: out += parser.data(); break;
        case http_event::complete:
          out += '\n';
          parser.reset();
          break;
        case http_event::refused: return out + " refused";
      }
    }
  }
  return out;
}

}  // namespace
}  // namespace glimmer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glimmer;
  if (size < 1) return 0;
  const std::string_view input{reinterpret_cast<const char*>(data + 1), size - 1};
  const auto whole = told(input, size);
  GLIMMER_ASSERT(told(input, 1) == whole, "byte by byte the same");
  GLIMMER_ASSERT(told(input, 1 + data[0] % 32) == whole, "in pieces the same");
  return 0;
}
