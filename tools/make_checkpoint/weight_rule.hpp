#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/checkpoint.hpp"
#include "model/config.hpp"

namespace glimmer {

/// The numbers that belong to a name: the top 24 bits of splitmix64's finaliser at
/// seed + n * 0x9E3779B97F4A7C15, where the seed is the 64-bit FNV-1a hash of the name. Needs
/// nothing but integers, so any language can repeat it.
class weight_stream {
 public:
  explicit weight_stream(std::string_view name);
  /// Number `n`, uniform in [-1, 1), a multiple of 2^-23.
  double at(std::uint64_t n) const;

 private:
  std::uint64_t seed_;
};

/// Nearest bf16, ties to even; the bits.
std::uint16_t bf16_bits(float value);

/// How one tensor's elements follow from draws. All arithmetic is in double, then one rounding to
/// f32 and one to bf16; README.md in this folder gives the reasons for every scale.
struct weight_rule {
  enum class form : std::uint8_t {
    uniform,       ///< offset + scale * u
    centred_norm,  ///< offset + scale * u; every 61st element from the 7th is -1
    final_norm,    ///< 1 + 0.5 * u; every 13th element from the 5th is negated
    embedding,     ///< u times an amplitude per row, from 1/64 to 16
    query,         ///< scale * (u + u' / sqrt(head_dim)), u' the k_proj row of its kv head
  };
  form shape = form::uniform;
  double scale = 1;
  double offset = 0;
};

/// The rule for `tensor` under `config`.
weight_rule rule_for(const model_config& config, const expected_tensor& tensor);

/// Writes elements [first, first + out.size()) of `tensor` as bf16 bits.
void fill_weights(const model_config& config, const expected_tensor& tensor, std::uint64_t first,
                  std::span<std::uint16_t> out);

}  // namespace glimmer
