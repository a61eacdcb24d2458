#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace glimmer {

/// Deals out places in the line so that clients share it, whoever sends more: start-time fair
/// queueing over tokens.
///
///     place = max(place now served, end of the client's last place),   end = place + tokens
///
/// A client that floods lines up behind itself; a single request of another stands at the place
/// now served, before the flood's rest. With one client the order is that of arrival. Places never
/// fall for one client and are passed sooner or later, so nobody starves.
class fair_share {
 public:
  /// The place of a request of `client` that costs `tokens`, at least 1.
  std::uint64_t place(const std::string& client, std::uint64_t tokens);
  /// Whoever stands at `place` is served now.
  void served(std::uint64_t place);

  /// Clients that are remembered; `clients_max` and those who wait, at most.
  static constexpr std::size_t clients_max = 4096;
  std::size_t clients() const { return ends_.size(); }

 private:
  std::uint64_t now_ = 0;
  std::unordered_map<std::string, std::uint64_t> ends_;
};

}  // namespace glimmer
