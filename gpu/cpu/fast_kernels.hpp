#pragma once

#include "gpu/cpu/fast_attention.hpp"
#include "gpu/cpu/fast_matmul.hpp"
#include "gpu/cpu/fast_rows.hpp"

namespace glimmer {

/// The table of kernels over lanes L.
template <class L>
inline constexpr cpu_kernels fast_kernels{
    .name = L::name,
    .convert = fast_convert<L>,
    .norm = fast_norm<L>,
    .add = fast_add<L>,
    .sigmoid_gate = fast_sigmoid_gate<L>,
    .silu_product = fast_silu_product<L>,
    .cap = fast_cap<L>,
    .finish_head = fast_finish_head<L>,
    .divide = fast_divide<L>,
    .quantise = fast_quantise<L>,
    .matmul = fast_matmul<L>,
    .rows_of_streams = L::rows_max > L::bytes::rows_max ? L::rows_max : L::bytes::rows_max,
    .load_keys = fast_load_keys<L>,
    .load_values = fast_load_values<L>,
    .attend = fast_attend<L>,
};

}  // namespace glimmer
