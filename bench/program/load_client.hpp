#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/program/answer_record.hpp"

namespace glimmer {

/// A server: http://HOST[:PORT][/PREFIX].
struct server_address {
  std::string host;
  std::string port = "80";
  std::string prefix;

  /// Fails with a sentence for anything else, https among it.
  static result<server_address> parse(std::string_view url);
};

/// When requests go out: open, at fixed times whatever happens to the ones before, or closed, so
/// many at a time.
struct load_plan {
  server_address server;
  std::string path;     ///< behind the prefix, e.g. "/v1/completions"
  std::string api_key;  ///< empty: none is sent
  std::vector<std::string> bodies;
  std::vector<double> arrivals;  ///< seconds, one each; empty: closed
  std::size_t concurrency = 0;   ///< in flight at most
  double timeout_seconds = 600;  ///< of one request
};

struct load_outcome {
  std::vector<answer_record> answers;  ///< in the order of the bodies
  double seconds = 0;                  ///< from the first request to the last byte
};

/// Plays a plan; one thread, a connection a request. `done(n)` is told how many are over. Fails
/// when the server's name means no address.
result<load_outcome> play(const load_plan& plan, void (*done)(void* context, std::size_t n),
                          void* context);

}  // namespace glimmer
