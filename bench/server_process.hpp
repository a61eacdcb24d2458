#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace glimmer {

/// A server process under load, ended with this object.
class server_process {
 public:
  /// Starts the command and waits until it says where it serves. `settings`: of its environment,
  /// each NAME=VALUE.
  explicit server_process(std::vector<std::string> command, std::vector<std::string> settings = {});
  ~server_process() { end(); }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;

  /// A socket that does not block; the connection may still be on its way.
  int connect() const;
  /// Seconds of CPU per thread so far, the busiest first.
  std::vector<double> cpu_seconds() const;
  /// Memory that lies in RAM.
  double resident_bytes() const;
  /// Ends it gently and waits.
  void end();

 private:
  pid_t pid_ = 0;
  std::uint16_t port_ = 0;
};

/// What `socket_probe` says about a server: see there.
class socket_probe {
 public:
  /// `step_ms`: 0 measures from read to write, else from a multiple of it.
  explicit socket_probe(std::size_t step_ms = 0);
  /// For the environment of the server.
  const std::vector<std::string>& settings() const { return settings_; }
  struct times {
    double samples = 0, p50_us = 0, p99_us = 0, max_us = 0;
  };
  /// Post: all zero before the server has ended.
  times read() const;

 private:
  std::string told_;
  std::vector<std::string> settings_;
};

/// A script of one turn: " a" so many times, and how many tokens a step brings.
struct turn_shape {
  std::size_t words = 0;
  std::size_t per_step = 1;
  std::size_t delay_ms = 0;
};
std::string turn_of(turn_shape shape);

/// A file that is gone with this object.
class temporary_file {
 public:
  explicit temporary_file(const std::string& text);
  ~temporary_file();
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A POST of JSON, as bytes.
struct post_text {
  std::string path = "/v1/chat/completions";
  std::string body;
};
std::string bytes_of(const post_text& post);

}  // namespace glimmer
