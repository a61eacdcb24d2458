#pragma once

#include <string>
#include <string_view>

namespace glimmer {

/// SHA-256 (FIPS 180-4) of `bytes` in lower-case hex. For telling files apart, not for speed.
std::string sha256_hex(std::string_view bytes);

}  // namespace glimmer
