#pragma once

#include "gpu/cpu/kernels.hpp"

namespace glimmer {

// The plain version of every kernel: written to be read, and the judge of the others.

void plain_convert(elements out, const_elements x, std::int64_t count);
void plain_norm(elements out, const_elements x, const norm_row& row);
void plain_add(elements h, const_elements u, std::int64_t count);
void plain_sigmoid_gate(elements o, const_elements g, std::int64_t count);
void plain_silu_product(elements gate, const_elements up, std::int64_t count);
void plain_cap(float* z, std::int64_t count, const logit_cap& rule);
void plain_finish_head(elements x, const head_row& row);
void plain_divide(elements out, const float* x, std::int64_t count, float divisor);
void plain_quantise(std::byte* to, const_elements x, const row_groups& groups);
void plain_matmul(const matmul_tile& tile);
void plain_load_keys(float* keys, const tile_rows& rows);
void plain_load_values(float* values, const tile_rows& rows);
void plain_attend(const tile_queries& queries);
void plain_load_pair_queries(bf16* q, const tile_rows& rows);
pair_keys plain_load_pair_keys(bf16* scratch, const tile_rows& rows);
void plain_load_pair_values(bf16* values, const tile_rows& rows);
void plain_attend_pairs(const pair_queries& queries);

}  // namespace glimmer
