#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "tokenizer/tokenizer.hpp"

namespace glimmer {

/// How one case went: nothing if it passed, else what differs, in a few lines.
using case_failure = std::optional<std::string>;

/// `expect_prompt`: a chat request and the prompt it must become.
case_failure run_prompt_case(const json& c);

/// `ids`: a text and its tokens.
case_failure run_tokenizer_case(const json& c, const tokenizer& tokens);

/// `raw` or `parts`: what the model wrote and the answer it means, however it is cut.
case_failure run_output_case(const json& c);

/// Both texts around the first place where they differ; nothing if they are equal.
case_failure difference(std::string_view expected, const std::string& actual);

}  // namespace glimmer
