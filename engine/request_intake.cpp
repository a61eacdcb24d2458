#include "engine/request_intake.hpp"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>
#include <utility>

#include "base/random.hpp"

namespace glimmer {

std::string local_date(unix_seconds wall) {
  const std::time_t seconds = wall;
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  return fmt::format("{:%Y-%m-%d}", parts);
}

request_intake::request_intake(intake_rules rules, request_preparer preparer)
    : rules_{std::move(rules)}, preparer_{std::move(preparer)} {}

result<accepted_request> request_intake::accept(request_id request, std::string_view body,
                                                const moment& now) const {
  auto parsed = parse_chat_request(body, rules_.requests);
  if (!parsed) return fail(std::move(parsed.error()));
  const auto words = philox4x32({static_cast<std::uint32_t>(request.value),
                                 static_cast<std::uint32_t>(request.value >> 32), 0, 0},
                                {static_cast<std::uint32_t>(rules_.process_key),
                                 static_cast<std::uint32_t>(rules_.process_key >> 32)});
  const auto drawn = std::uint64_t{words[0]} << 32 | words[1];
  auto prepared = preparer_.prepare(*parsed, local_date(now.wall), rules_.seed.value_or(drawn));
  if (!prepared) return fail(std::move(prepared.error()));
  return accepted_request{
      .request = request,
      .answer_id = fmt::format("chatcmpl-{:08x}{:08x}{:08x}", words[1], words[2], words[3]),
      .arrived = now.arrived,
      .created = now.wall,
      .response = std::move(parsed->response),
      .prepared = std::move(*prepared),
      .priority = parsed->priority,
      .fairness_key = std::move(parsed->fairness_key),
      .cache_salt = std::move(parsed->cache_salt)};
}

}  // namespace glimmer
