#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "engine/accepted_request.hpp"
#include "engine/request_preparer.hpp"
#include "protocol/openai/chat_request.hpp"
#include "protocol/router.hpp"

namespace glimmer {

/// What the intake is told at the start.
struct intake_rules {
  request_rules requests;             ///< names, defaults and limits of request fields
  std::optional<std::uint64_t> seed;  ///< of requests that bring none; else one is drawn
  std::uint64_t process_key = 0;      ///< random per process: answer ids and drawn seeds
};

/// The whole body of an answer that needs no computing.
struct ready_answer {
  std::string body;
};

/// From the bytes of a body to a request that can be computed, or to its answer. Immutable; any
/// thread may call.
class request_intake {
 public:
  request_intake(intake_rules rules, request_preparer preparer);

  /// When a request came, by both clocks.
  struct moment {
    time_point arrived;
    unix_seconds wall = 0;
  };
  struct order {
    request_id request;
    route where = route::chat_completions;  ///< one with `is_work`
    std::string_view body;
  };
  /// Reads, validates and tokenises one request.
  result<std::variant<accepted_request, ready_answer>> take(const order& asked,
                                                            const moment& now) const;
  /// The same for the routes that generate.
  result<accepted_request> accept(const order& asked, const moment& now) const;
  /// The same for the others.
  result<ready_answer> answer(const order& asked, const moment& now) const;

 private:
  struct drawn_numbers {
    std::uint64_t seed = 0;
    std::string name;  // of the answer
  };
  drawn_numbers draw(request_id request) const;
  result<accepted_request> accept_completion(const order& asked, const moment& now) const;
  result<ready_answer> tokenize(std::string_view body, const moment& now) const;
  result<ready_answer> detokenize(std::string_view body) const;
  result<ready_answer> render(std::string_view body, const moment& now) const;

  intake_rules rules_;
  request_preparer preparer_;
};

/// YYYY-MM-DD in the server's time zone.
std::string local_date(unix_seconds wall);

}  // namespace glimmer
