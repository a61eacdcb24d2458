#include "glimmer/speculative_config.hpp"

#include <fmt/core.h>

#include <string>

#include "base/json.hpp"

namespace glimmer {
namespace {

std::unexpected<error> refuse(std::string text) {
  return fail({error_kind::bad_request, "invalid_option", "", std::move(text)});
}

result<void> read(drafter_settings& into, const json& field) {
  const auto name = field.key();
  if (name == "method") {
    if (field.is_string() && field.string() == "dflash") return {};
    return refuse("method must be \"dflash\", the only one there is");
  }
  if (name == "model") {
    if (!field.is_string() || field.string().empty()) {
      return refuse("model must name the draft head's folder or hub id");
    }
    into.model = field.string();
    return {};
  }
  if (name == "num_speculative_tokens") {
    const auto count = field.is_number() ? field.integer() : std::nullopt;
    if (!count || *count < 0 || *count > 1'000) {
      return refuse("num_speculative_tokens must be a whole number from 0 to 1000");
    }
    into.tokens_max = static_cast<std::uint32_t>(*count);
    return {};
  }
  if (name == "adaptive") {
    if (!field.is_boolean()) return refuse("adaptive must be true or false");
    into.adaptive = field.boolean();
    return {};
  }
  if (name == "acceptance_floor") {
    if (!field.is_number() || !(field.number() >= 1 && field.number() <= 16)) {
      return refuse("acceptance_floor must be a number from 1 to 16");
    }
    into.acceptance_floor = field.number();
    return {};
  }
  return refuse(
      fmt::format("'{}' is not known; method, model, num_speculative_tokens, adaptive and "
                  "acceptance_floor are",
                  name));
}

}  // namespace

result<drafter_settings> parse_speculative_config(std::string_view text) {
  const auto given = json::parse(text);
  if (!given || !given->is_object()) {
    return refuse(
        fmt::format("'{}' is not a JSON object such as {{\"method\": \"dflash\", "
                    "\"model\": \"folder\", \"num_speculative_tokens\": 15}}",
                    text));
  }
  drafter_settings out;
  for (const auto& field : given->elements()) {
    if (const auto fine = read(out, field); !fine) return fail(fine.error());
  }
  for (const auto* needed : {"method", "model"}) {
    if (!given->find(needed)) return refuse(fmt::format("{} is missing", needed));
  }
  return out;
}

}  // namespace glimmer
