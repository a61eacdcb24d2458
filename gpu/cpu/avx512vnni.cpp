// Compiled for AVX-512 with VNNI; nothing here may run before the processor is known to have it,
// and no function may be shared with the rest of the program.
#include "gpu/cpu/bytes_vnni.hpp"

namespace glimmer {

namespace {

struct bytes_avx512vnni : bytes_vnni {
  static constexpr const char* name = "avx512vnni";
};

}  // namespace

const cpu_kernels& avx512vnni_kernels() {
  return fast_kernels<lanes_avx512<bytes_avx512vnni>>;
}

}  // namespace glimmer
