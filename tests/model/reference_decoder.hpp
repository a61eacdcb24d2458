#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "model/checkpoint.hpp"
#include "tests/model/reference_math.hpp"

namespace glimmer {

/// Mistakes that implementations of this architecture have made or could make.
enum class trap : std::uint8_t {
  none,
  no_embedding_norm,
  plain_layer_norms,   ///< w where 1 + w belongs
  centred_final_norm,  ///< 1 + w where w belongs
  one_eps,             ///< 1e-5 behind the sublayers too
  rotated_full_layers,
  unrotated_sliding_layers,
  window_one_short,
  window_one_long,
  no_query_scale,
  key_scale_too,
  no_gate,
  gate_from_residual,    ///< the gate reads h instead of its norm
  interleaved_heads,     ///< query head i uses kv head i mod kv_heads
  interleaved_rotation,  ///< pairs (2m, 2m + 1) instead of (d, d + D/2)
  no_multiplier,
  no_cap,
};
inline constexpr int trap_count = static_cast<int>(trap::no_cap) + 1;
std::string_view to_string(trap t);

/// What the cache of keys and values does to a run.
struct cache_rules {
  std::int64_t first_position = 0;  ///< of the first token; all keys and values before it are zeros
  bool rounds_to_e4m3 = false;
};

/// The text decoder written down as plainly as possible, in double, without a cache and without
/// anything of gpu/: the judge of the engine's mathematics, and with a trap the proof that the
/// tests can see each mistake.
class reference_decoder {
 public:
  explicit reference_decoder(const checkpoint& source, cache_rules cache = {});

  /// Capped logits of every position, [tokens, vocab].
  std::vector<float> logits(std::span<const token_id> tokens, trap wrong = trap::none) const;

 private:
  using row = std::vector<double>;
  using rows = std::vector<row>;
  using weights = std::vector<float>;

  const weights& weight(const std::string& name) const { return weights_.at(name); }
  /// x W^T; x goes through codes of 8 bits where W is NVFP4, as it does in the engine.
  row product(const row& x, const std::string& module) const;
  rows embed(std::span<const token_id> tokens, trap wrong) const;
  rows attention(const rows& x, const rows& gate_input, std::int64_t layer, trap wrong) const;
  rows mlp(const rows& x, std::int64_t layer) const;
  row attend(const rows& q, const rows& k, const rows& v, std::int64_t window, trap wrong) const;
  void finish(row& heads, std::int64_t position, double scale, rotation how) const;
  void run_layer(rows& h, std::int64_t layer, trap wrong) const;

  text_config config_;
  cache_rules cache_;
  std::map<std::string, weights> weights_;
  std::set<std::string> rounding_;  ///< weights that are NVFP4
};

}  // namespace glimmer
