#pragma once

#include <cstddef>
#include <cstdint>

namespace glimmer {

/// Every bound of the server in one place, so that the worst case is a sum one can read.
/// The defaults serve one workstation; `glimmerd.conf` and flags change those marked (c).
struct limits {
  // one connection
  std::size_t http_header_bytes = 64 << 10;  ///< request line and header fields together
  std::size_t http_header_fields = 128;
  std::size_t http_body_bytes = 64 << 20;        ///< (c) one request body
  std::size_t http_read_ahead_bytes = 64 << 10;  ///< unparsed behind the request in work
  std::size_t http_discard_bytes = 8 << 20;      ///< unwanted body read after an early answer

  // all connections of one frontend
  std::size_t connections = 8192;            ///< (c) sockets; further ones are refused
  std::uint32_t header_timeout_ms = 10'000;  ///< (c) from the first byte to the end of the header
  std::uint32_t body_timeout_ms = 60'000;    ///< (c) between two reads of a body
  std::uint32_t request_timeout_ms = 0;      ///< (c) from header to last byte; 0 = no end
  std::uint32_t idle_timeout_ms = 75'000;    ///< (c) keep-alive without a request
  std::uint32_t linger_timeout_ms = 5'000;   ///< from our last byte to the peer's end

  // all requests of the process
  std::size_t requests_in_flight = 1024;  ///< (c) admission credits: gate 1
  std::size_t queued_tokens = 4 << 20;    ///< (c) prompt tokens admitted, not yet computed: gate 2

  // one request
  std::uint32_t choices = 128;     ///< n
  std::uint32_t prompts = 1024;    ///< of one completions request
  std::uint32_t sequences = 4096;  ///< of one request: prompts times choices
  std::uint32_t bad_words = 256;
  std::uint32_t stop_strings = 16;
  std::size_t stop_string_bytes = 1024;
  std::uint32_t top_logprobs = 20;
  std::uint32_t tools = 1024;
  std::uint32_t messages = 65'536;
  std::uint32_t logit_bias_entries = 1024;
  std::size_t answer_bytes = 512 << 20;  ///< (c) an answer in one piece, as estimated at its start

  // one JSON text
  std::uint32_t json_depth = 256;

  // one sequence
  std::uint32_t token_window = 256;   ///< tokens on their way to a client (>= one draft of 16)
  std::uint32_t parked_ms = 120'000;  ///< (c) a parked sequence is cancelled after this

  /// Tokens of one choice that may be on their way: a request's window is shared by its choices,
  /// and each has room for one whole draft of 16.
  constexpr std::uint32_t choice_window(std::uint32_t choice_count) const {
    const auto share = token_window / choice_count;
    return share < 16 ? 16 : share;
  }

  /// Bytes that request bodies can pin at most. What is unsent is bounded in tokens: by
  /// `choice_window` times choices for each request in flight.
  constexpr std::size_t worst_case_body_bytes() const {
    return requests_in_flight * http_body_bytes;
  }
};

}  // namespace glimmer
