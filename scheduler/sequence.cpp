#include "scheduler/sequence.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace glimmer {

void sequence::copy_tokens(std::uint32_t position, std::size_t count,
                           std::vector<token_id>& out) const {
  GLIMMER_ASSERT(position + count <= total(), "only known tokens are computed");
  const auto from_prompt =
      position < prompt_size() ? std::min<std::size_t>(count, prompt_size() - position) : 0;
  const auto prompt_at = prompt->begin() + std::min(position, prompt_size());
  out.insert(out.end(), prompt_at, prompt_at + static_cast<std::ptrdiff_t>(from_prompt));
  const auto skipped = position + from_prompt - prompt_size();  // output tokens before the range
  if (count == from_prompt) return;
  const auto output_at = output.begin() + static_cast<std::ptrdiff_t>(skipped);
  out.insert(out.end(), output_at, output_at + static_cast<std::ptrdiff_t>(count - from_prompt));
}

}  // namespace glimmer
