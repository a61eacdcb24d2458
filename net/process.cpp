#include "net/process.hpp"

#include <sys/resource.h>

namespace glimmer {

std::size_t raise_descriptor_limit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
  const auto before = files.rlim_cur;
  files.rlim_cur = files.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : before;
}

}  // namespace glimmer
