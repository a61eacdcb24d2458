#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "base/sampling_params.hpp"
#include "tests/simulation/dice.hpp"
#include "tests/simulation/told_answer.hpp"

namespace glimmer {

/// A client of a simulated server, with its socket: it sends one request, perhaps cut anywhere,
/// reads at its own pace, and stays or leaves.
struct guest {
  // what it is like
  std::string label;    ///< its x-request-id
  std::string body;     ///< of its request
  std::string request;  ///< as bytes
  bool stream = false;
  std::size_t buffer = 4096;         ///< bytes its socket holds unread
  std::uint32_t read_percent = 100;  ///< chance to read when it acts
  std::uint32_t leave_permille = 0;  ///< chance to vanish when it acts, once it has come
  bool ends_its_side = false;        ///< leaves by ending its direction first
  std::uint32_t abort_permille = 0;  ///< chance to ask for its own end by name
  std::uint32_t patience = 0;        ///< acts until it leaves whatever has come; 0: endless
  std::uint32_t frontend = 0;

  // where it is
  std::uint64_t connection = 0;  ///< of its frontend; 0: it has not come yet
  std::size_t sent = 0;          ///< bytes of `request`
  std::string kept;              ///< written by the server, not yet in the socket
  std::string unread;            ///< in the socket
  std::string heard;
  std::uint64_t taken = 0;    ///< bytes that have left the server
  bool paused = false;        ///< the server does not read
  bool server_ended = false;  ///< its direction, behind `kept`
  bool server_closed = false;
  bool left = false;
  bool asked_to_abort = false;
  std::optional<request_id> number;  ///< of its request, once it is prepared

  /// It has heard a whole answer.
  bool answered() const {
    const bool may_be = heard.ends_with('}') || heard.ends_with("0\r\n\r\n");
    return may_be && read_http(heard).whole;
  }
  bool gone() const { return left || server_closed; }
};

/// What a guest asks for is drawn from the seed; `label` names it.
guest draw_guest(dice& chance, std::string label);

}  // namespace glimmer
