#include "gpu/cpu/plain.hpp"

namespace glimmer {

namespace {

constexpr cpu_kernels kernels{
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

constexpr cpu_kernels in_pairs() {
  cpu_kernels k = kernels;
  k.name = "plain-pairs";
  k.multiplies_pairs = true;
  k.pairs = {.load_queries = plain_load_pair_queries,
             .load_keys = plain_load_pair_keys,
             .load_values = plain_load_pair_values,
             .attend = plain_attend_pairs};
  return k;
}

constexpr cpu_kernels kernels_in_pairs = in_pairs();

}  // namespace

const cpu_kernels& plain_kernels() {
  return kernels;
}

const cpu_kernels& plain_pair_kernels() {
  return kernels_in_pairs;
}

}  // namespace glimmer
