#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <caf/message_handler.hpp>
#include <cstddef>
#include <vector>

#include "engine/credit_pool.hpp"

namespace glimmer {

/// The supervisor's counter for admission credits: carries between `credit_pool` and frontends.
class credit_bank {
 public:
  explicit credit_bank(std::size_t total) : pool_{total} {}

  /// Handles credits_wanted and credits_returned, for as long as this lives in `self`.
  caf::message_handler counter(caf::event_based_actor* self);
  void set_total(caf::event_based_actor* self, std::size_t total);
  std::size_t in_pool() const { return pool_.in_pool(); }

 private:
  std::size_t holder_of(const caf::actor& who);
  void carry_out(caf::event_based_actor* self);

  credit_pool pool_;
  std::vector<caf::actor> holders_;
};

}  // namespace glimmer
