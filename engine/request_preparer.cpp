#include "engine/request_preparer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "tokenizer/chat_template.hpp"

namespace glimmer {

namespace {

error too_long(const generation_request& request, std::size_t prompt_tokens,
               std::uint32_t context_tokens) {
  const bool is_chat = std::holds_alternative<chat_prompt>(request.prompt);
  std::string text = fmt::format("This model's context holds {} tokens; the prompt has {}",
                                 context_tokens, prompt_tokens);
  if (request.has_max_tokens) {
    text += fmt::format(", and max_tokens asks for {} more", request.sampling.max_tokens);
  }
  return {error_kind::bad_request, "context_length_exceeded", is_chat ? "messages" : "prompt",
          text + ". The prompt must leave room for an answer."};
}

error unserved_medium(const media_placeholder& medium) {
  const bool is_image = medium.placeholder == control_token::patch;
  return {error_kind::bad_request, "unsupported_parameter",
          fmt::format("messages[{}].content[{}]", medium.message, medium.part),
          fmt::format("This server answers text only; {} are not accepted.",
                      is_image ? "images" : "videos")};
}

/// The first medium among the pieces, if any.
const media_placeholder* find_medium(const prompt_pieces& prompt) {
  for (const auto& piece : prompt.pieces()) {
    if (const auto* medium = std::get_if<media_placeholder>(&piece)) return medium;
  }
  return nullptr;
}

result<void> check_range(std::string_view field, std::span<const token_id> ids,
                         std::uint32_t below) {
  const auto outside = [&](token_id id) {
    return id < 0 || static_cast<std::uint32_t>(id) >= below;
  };
  const auto it = std::ranges::find_if(ids, outside);
  if (it == ids.end()) return {};
  return fail(bad_value(
      field, fmt::format("{} names token {}; tokens are 0 to {}.", field, *it, below - 1)));
}

}  // namespace

request_preparer::request_preparer(std::shared_ptr<const tokenizer> tokens, prompt_bounds bounds)
    : tokens_{std::move(tokens)}, bounds_{bounds} {}

result<prepared_request> request_preparer::prepare(const generation_request& request,
                                                   std::string_view server_date,
                                                   std::uint64_t fresh_seed) const {
  if (auto fine = check_ids(request.sampling); !fine) return fail(std::move(fine.error()));
  auto encoded = encode_prompt(request.prompt, server_date);
  if (!encoded) return fail(std::move(encoded.error()));
  cut_front(request, encoded->tokens);
  const auto max_tokens = output_room(request, encoded->tokens.size());
  if (!max_tokens) return fail(max_tokens.error());
  if (auto fine = check_size(request, encoded->tokens.size(), *max_tokens); !fine) {
    return fail(std::move(fine.error()));
  }

  sampling_params sampling = request.sampling;
  sampling.max_tokens = *max_tokens;
  sampling.min_tokens = std::min(sampling.min_tokens, *max_tokens);
  if (auto done = add_bad_words(request.bad_words, sampling); !done) {
    return fail(std::move(done.error()));
  }
  // A chat's turn goes on behind an end of message; stopping there would lose every call that
  // follows the reasoning.
  if (std::holds_alternative<chat_prompt>(request.prompt)) {
    std::erase(sampling.stop_token_ids, tokens_->id(control_token::eom));
  }

  prepared_request out;
  out.end = encoded->end;
  out.prompt = std::make_shared<const std::vector<token_id>>(std::move(encoded->tokens));
  const std::uint64_t seed = request.has_seed ? request.sampling.seed : fresh_seed;
  for (std::uint32_t choice = 0; choice < request.response.sequences(); ++choice) {
    out.choices.push_back(sampling);
    out.choices.back().seed = choice_seed(seed, choice);
  }
  return out;
}

result<std::vector<token_id>> request_preparer::encode(const prompt_source& source,
                                                       std::string_view server_date) const {
  auto encoded = encode_prompt(source, server_date);
  if (!encoded) return fail(std::move(encoded.error()));
  return std::move(encoded->tokens);
}

std::string request_preparer::text(std::span<const token_id> tokens) const {
  return tokens_->decode(tokens, special_text::spelled);
}

result<request_preparer::encoded_prompt> request_preparer::encode_prompt(
    const prompt_source& source, std::string_view server_date) const {
  if (const auto* chat = std::get_if<chat_prompt>(&source)) return encode_chat(*chat, server_date);
  if (const auto* text = std::get_if<text_prompt>(&source)) {
    auto tokens =
        tokens_->encode(text->text, text->begin_of_text ? bos_policy::prepend : bos_policy::none);
    if (!tokens) return fail(std::move(tokens.error()));
    if (tokens->empty()) return fail(bad_value("prompt", "prompt has no token to continue."));
    return encoded_prompt{std::move(*tokens), prompt_end::text};
  }
  const auto& tokens = std::get<token_prompt>(source).tokens;
  if (tokens.empty()) return fail(bad_value("prompt", "prompt has no token to continue."));
  if (auto fine = check_range("prompt", tokens, bounds_.vocab_tokens); !fine) {
    return fail(std::move(fine.error()));
  }
  return encoded_prompt{tokens, prompt_end::text};
}

result<request_preparer::encoded_prompt> request_preparer::encode_chat(
    const chat_prompt& chat, std::string_view server_date) const {
  const prompt_pieces pieces = render_chat(chat, server_date);
  if (const auto* medium = find_medium(pieces)) return fail(unserved_medium(*medium));
  if (chat.continue_final_message && pieces.end == prompt_end::closed) {
    return fail(bad_value("continue_final_message",
                          "continue_final_message needs an answer without tool calls as the last "
                          "message."));
  }
  auto tokens = to_tokens(pieces, *tokens_);
  if (!tokens) return fail(std::move(tokens.error()));
  return encoded_prompt{std::move(*tokens), pieces.end};
}

result<void> request_preparer::check_ids(const sampling_params& sampling) const {
  std::vector<token_id> biased;
  for (const auto& entry : sampling.logit_bias) biased.push_back(entry.first);
  const std::pair<std::string_view, std::span<const token_id>> fields[] = {
      {"logit_bias", biased},
      {"stop_token_ids", sampling.stop_token_ids},
      {"allowed_token_ids", sampling.allowed_token_ids},
  };
  for (const auto& [field, ids] : fields) {
    if (auto fine = check_range(field, ids, bounds_.vocab_tokens); !fine) return fine;
  }
  for (const auto& word : sampling.bad_words) {
    if (auto fine = check_range("bad_words", word, bounds_.vocab_tokens); !fine) return fine;
  }
  return {};
}

/// A unary answer is kept whole until its end; log probabilities of the prompt come in one piece
/// even in a stream. So both are bounded before anything is computed.
result<void> request_preparer::check_size(const generation_request& request,
                                          std::size_t prompt_tokens,
                                          std::uint32_t max_tokens) const {
  constexpr std::uint64_t text_bytes = 8, logprob_bytes = 80;  // of one token, as they often are
  const auto told = [&](std::optional<std::uint32_t> top) {
    return top ? (*top + 1) * logprob_bytes : 0;
  };
  const auto& response = request.response;
  const std::uint64_t tokens =
      response.stream ? 0 : std::uint64_t{max_tokens} * response.sequences();
  const auto bytes = tokens * (text_bytes + told(request.sampling.logprobs)) +
                     prompt_tokens * told(request.sampling.prompt_logprobs);
  if (bytes <= bounds_.answer_bytes) return {};
  return fail({error_kind::bad_request, "answer_too_large",
               tokens > 0 ? "max_tokens" : "prompt_logprobs",
               fmt::format("The answer could grow to about {} bytes in one piece ({} tokens with "
                           "their log probabilities); this server keeps at most {}. Ask for a "
                           "stream, a smaller max_tokens, fewer choices or fewer log "
                           "probabilities.",
                           bytes, tokens + (request.sampling.prompt_logprobs ? prompt_tokens : 0),
                           bounds_.answer_bytes)});
}

/// A word may begin a text or follow a blank: both ways of writing it are kept out.
result<void> request_preparer::add_bad_words(std::span<const std::string> words,
                                             sampling_params& out) const {
  for (const auto& word : words) {
    auto plain = tokens_->encode(word);
    if (!plain) return fail(std::move(plain.error()));
    auto spaced = tokens_->encode(" " + word);
    if (!spaced) return fail(std::move(spaced.error()));
    out.bad_words.push_back(std::move(*plain));
    out.bad_words.push_back(std::move(*spaced));
  }
  return {};
}

/// Keeps the prompt's last tokens, where the client asked for it.
void request_preparer::cut_front(const generation_request& request,
                                 std::vector<token_id>& prompt) const {
  if (!request.prompt_tokens_kept) return;
  const auto answer = std::max(request.has_max_tokens ? request.sampling.max_tokens : 1U, 1U);
  const auto room = bounds_.context_tokens - std::min(answer, bounds_.context_tokens - 1);
  const auto kept = *request.prompt_tokens_kept == -1
                        ? std::size_t{room}
                        : static_cast<std::size_t>(*request.prompt_tokens_kept);
  if (prompt.size() > kept) {
    prompt.erase(prompt.begin(), prompt.end() - static_cast<std::ptrdiff_t>(kept));
  }
}

/// What the client asked, cut to what the context leaves behind the prompt.
result<std::uint32_t> request_preparer::output_room(const generation_request& request,
                                                    std::size_t prompt_tokens) const {
  constexpr std::uint32_t no_limit = std::numeric_limits<std::uint32_t>::max();
  const std::uint32_t wanted = request.has_max_tokens ? request.sampling.max_tokens : no_limit;
  const std::uint32_t needed = std::min(wanted, 1U);  // a prompt may be scored without an answer
  if (prompt_tokens + needed > bounds_.context_tokens) {
    return fail(too_long(request, prompt_tokens, bounds_.context_tokens));
  }
  return std::min(wanted, bounds_.context_tokens - static_cast<std::uint32_t>(prompt_tokens));
}

}  // namespace glimmer
