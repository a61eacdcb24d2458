#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "engine/answer_sink.hpp"
#include "glimmer/options.hpp"
#include "glimmer/visibility.hpp"

namespace glimmer {

/// Names a request that was submitted; never reused within one engine.
struct submission {
  std::uint64_t number = 0;
};

/// What an engine's owner is told, from an engine thread. May be empty.
struct engine_events {
  std::function<void()> on_ready;             ///< once, when requests are served
  std::function<void(int exit_code)> on_end;  ///< once: 0 drained, 1 cut, else it failed
};

/// The whole server as an object: model, actors and, if asked for, HTTP. All calls are safe from
/// any thread and return at once, but `load` (reads headers, opens the port; the weights are packed
/// behind it, until `on_ready`) and the destructor (waits for the engine's threads).
class GLIMMER_API engine {
 public:
  /// `with_http`: also listen, as `options` say. Fails with one sentence when the checkpoint, the
  /// settings or the port are not right; weights are packed later, see `on_ready`.
  enum class with_http : bool { no, yes };
  static result<std::unique_ptr<engine>> load(const server_options& options, engine_events events,
                                              with_http http = with_http::no);
  virtual ~engine() = default;

  /// Starts one chat request: the body of POST /v1/chat/completions. `sink` gets what HTTP would
  /// have answered, errors included, and exactly one last part (when the engine is destroyed
  /// first: then).
  virtual submission submit(std::string_view chat_request, answer_sink sink) = 0;
  /// The answer is not wanted any more; its sink gets its last part soon. Idempotent.
  virtual void cancel(submission which) = 0;

  /// New requests are refused, open ones end; `on_end` tells when. Asked twice, open ones are cut.
  virtual void drain() = 0;

  /// Takes over limits, API keys and log level; no stream is dropped. What holds only after a
  /// restart is named in the log and ignored.
  virtual void reload(const server_options& options) = 0;

  /// Where HTTP listens; 0 without it.
  virtual std::uint16_t port() const = 0;
  /// The first name clients may use.
  virtual const std::string& model_name() const = 0;
};

/// Version of the library, e.g. "0.1.0".
GLIMMER_API std::string_view glimmer_version();

}  // namespace glimmer
