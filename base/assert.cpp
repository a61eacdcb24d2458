#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace glimmer {

void assertion_failed(const char* condition, const char* why, std::source_location where) {
  std::fprintf(stderr, "%s:%u: broken invariant: %s (%s)\n", where.file_name(),
               static_cast<unsigned>(where.line()), why, condition);
  std::abort();
}

}  // namespace glimmer
