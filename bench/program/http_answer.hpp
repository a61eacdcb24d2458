#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace glimmer {

/// One HTTP/1.1 answer as a client reads it: bytes in, lines of the body out. Knows sized, chunked
/// and unsized bodies; any cut of the bytes gives the same lines.
class http_answer {
 public:
  enum class state : unsigned char { head, body, done, broken };

  /// Takes bytes; returns the lines that they complete, without their ends.
  std::vector<std::string> push(std::string_view bytes);
  /// The peer closed: an unsized body is whole now, any other that is not is broken.
  std::vector<std::string> close();

  state now() const { return state_; }
  int status() const { return status_; }

 private:
  bool read_head();
  void read_sized();
  bool read_chunk();
  void take(std::vector<std::string>& lines);

  enum class framing : unsigned char { sized, chunked, until_close };
  state state_ = state::head;
  framing framing_ = framing::until_close;
  int status_ = 0;
  std::size_t left_ = 0;  ///< bytes of the body, or of the chunk and its end
  std::string raw_;       ///< not yet understood
  std::string body_;      ///< unframed, not yet given out
};

}  // namespace glimmer
