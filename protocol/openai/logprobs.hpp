#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"

namespace glimmer {

/// One token's probability with the vocabulary's bytes in place of ids. Bytes need not be UTF-8:
/// a character may be spread over tokens.
struct spelled_logprob {
  std::string token;
  float logprob = 0;
  std::vector<std::pair<std::string, float>> top;  ///< best first
  token_id id = 0;                                 ///< with `top_ids`, for prompt tokens only
  std::vector<token_id> top_ids;                   ///< as `top`
};

/// Appends {"token","logprob","bytes","top_logprobs":[...]}. `bytes` is exact, `token` has U+FFFD
/// where the bytes are no character; minus infinity is -9999.
void append_logprob(std::string& out, const spelled_logprob& entry);

/// Appends a number; minus infinity is -9999.
void append_finite(std::string& out, float value);

/// Appends `bytes` as a JSON string, U+FFFD for each maximal run that is no UTF-8.
void append_lossy_json_string(std::string& out, std::string_view bytes);
std::string lossy_json_string(std::string_view bytes);

}  // namespace glimmer
