#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "engine/accepted_request.hpp"
#include "engine/request_preparer.hpp"
#include "protocol/openai/chat_request.hpp"

namespace glimmer {

/// What the intake is told at the start.
struct intake_rules {
  request_rules requests;             ///< names, defaults and limits of request fields
  std::optional<std::uint64_t> seed;  ///< of requests that bring none; else one is drawn
  std::uint64_t process_key = 0;      ///< random per process: answer ids and drawn seeds
};

/// From the bytes of a body to a request that can be computed. Immutable; any thread may call.
class request_intake {
 public:
  request_intake(intake_rules rules, request_preparer preparer);

  /// When a request came, by both clocks.
  struct moment {
    time_point arrived;
    unix_seconds wall = 0;
  };
  /// Reads, validates and tokenises one chat request.
  result<accepted_request> accept(request_id request, std::string_view body,
                                  const moment& now) const;

 private:
  intake_rules rules_;
  request_preparer preparer_;
};

/// YYYY-MM-DD in the server's time zone.
std::string local_date(unix_seconds wall);

}  // namespace glimmer
