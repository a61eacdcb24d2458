#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/checkpoint.hpp"
#include "model/draft_checkpoint.hpp"
#include "tests/model/reference_math.hpp"

namespace glimmer {

/// Mistakes that implementations of this head have made; all leave the text right.
enum class draft_trap : std::uint8_t {
  none,
  normed_embeddings,
  wrong_mask_token,
  permuted_taps,
  causal_block,
  centred_norms,  ///< 1 + w where w belongs
  interleaved_rotation,
  context_normed_by_layer,  ///< the context passes each layer's input norm
  block_one_early,          ///< the anchor at the last context position
  window_dropped,
  window_one_short,
  window_from_zero,  ///< the mask takes the block for positions 0, 1, ...
  no_context,
};
inline constexpr int draft_trap_count = static_cast<int>(draft_trap::no_context) + 1;
std::string_view to_string(draft_trap t);

/// One block behind a context whose positions start at 0.
struct draft_case {
  std::vector<float> features;  ///< [context, taps * hidden]
  std::int64_t context = 0;
  token_id anchor = 0;
  std::int64_t drafts = 0;
};

/// The head written down as plainly as possible, in double, without caches: the judge of the
/// engine's mathematics, and with a trap the proof that the tests can see each mistake.
class reference_draft_head {
 public:
  reference_draft_head(const draft_checkpoint& head, const checkpoint& target);

  /// Logits of the bare output head, [drafts, vocab].
  std::vector<float> logits(const draft_case& c, draft_trap wrong = draft_trap::none) const;

 private:
  using row = double_row;
  using rows = std::vector<row>;
  struct query_and_key {
    std::int64_t query = 0;
    std::int64_t key = 0;
  };
  struct place {
    std::int64_t begin = 0;  ///< position of the block
    draft_trap wrong = draft_trap::none;
  };

  const std::vector<float>& weight(const std::string& name) const { return weights_.at(name); }
  row norm(const row& x, const std::string& name, draft_trap wrong) const;
  row embedded(token_id token, draft_trap wrong) const;
  rows encode(const draft_case& c, draft_trap wrong) const;
  rows heads(const rows& x, const std::string& name, std::int64_t position, draft_trap wrong) const;
  bool sees(const query_and_key& of, const place& at) const;
  void run_layer(rows& h, const rows& context, const std::string& layer, const place& at) const;
  rows attend(const rows& q, const rows& k, const rows& v, const place& at) const;

  draft_head_config config_;
  double eps_;
  std::map<std::string, std::vector<float>> weights_;
  std::vector<float> embedding_;
  std::vector<float> output_;
};

}  // namespace glimmer
