#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace glimmer {

enum class log_level : std::uint8_t { debug, info, warning, error };

/// "info" and so on; anything else is info.
log_level parse_log_level(std::string_view name);

/// Writes one line an event to standard error: time, level, event, fields. Lines of several
/// threads never mix. Never given a prompt's or an answer's text.
class event_log {
 public:
  explicit event_log(log_level least = log_level::info)
      : least_{std::make_shared<std::atomic<log_level>>(least)} {}

  bool writes(log_level level) const { return level >= least_->load(std::memory_order_relaxed); }
  /// Of all copies. Any thread.
  void set_least(log_level least) const { least_->store(least, std::memory_order_relaxed); }
  /// `fields` is "name=value name=value", or a sentence.
  void write(log_level level, std::string_view event, const std::string& fields = {}) const;

  void debug(std::string_view event, const std::string& fields = {}) const {
    write(log_level::debug, event, fields);
  }
  void info(std::string_view event, const std::string& fields = {}) const {
    write(log_level::info, event, fields);
  }
  void warning(std::string_view event, const std::string& fields = {}) const {
    write(log_level::warning, event, fields);
  }
  void error(std::string_view event, const std::string& fields = {}) const {
    write(log_level::error, event, fields);
  }

 private:
  std::shared_ptr<std::atomic<log_level>> least_;
};

}  // namespace glimmer
