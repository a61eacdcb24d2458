#include "gpu/cpu/plain.hpp"

namespace glimmer {

const cpu_kernels& plain_kernels() {
  static constexpr cpu_kernels kernels{
      .name = "plain",
      .convert = plain_convert,
      .norm = plain_norm,
      .add = plain_add,
      .sigmoid_gate = plain_sigmoid_gate,
      .silu_product = plain_silu_product,
      .cap = plain_cap,
      .finish_head = plain_finish_head,
      .divide = plain_divide,
      .quantise = plain_quantise,
      .matmul = plain_matmul,
      .load_keys = plain_load_keys,
      .load_values = plain_load_values,
      .attend = plain_attend,
  };
  return kernels;
}

}  // namespace glimmer
