#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/drafter.hpp"
#include "actors/executor.hpp"
#include "actors/frontend.hpp"
#include "actors/log.hpp"
#include "actors/supervisor.hpp"
#include "base/result.hpp"
#include "engine/answer_desk.hpp"
#include "engine/request_intake.hpp"
#include "engine/server_rules.hpp"
#include "scheduler/scheduler_config.hpp"

namespace glimmer {

/// Everything the actors are made of.
struct crew_plan {
  scheduler_config scheduling;
  stepper_factory load_stepper;
  proposer_factory make_proposer;  ///< empty: no drafter
  std::shared_ptr<const request_intake> intake;
  answer_desk::config answers;
  std::uint32_t tokenizers = 1;
  std::uint32_t parsers = 1;
  std::uint32_t frontends = 0;  ///< 0: no port, only clients in this process
  desk_config desk;             ///< of every frontend; ids and credits are dealt out
  listen_options listen;
  supervisor_setup supervision;
};

/// All actors of one engine, wired. Lives inside somebody's actor system; its destructor sends
/// everyone home and waits until they are gone, so it must not run in a scheduled actor.
class crew {
 public:
  /// Opens the ports, then lets the executor load. Fails when a port cannot be opened.
  static result<std::unique_ptr<crew>> muster(caf::actor_system& system, crew_plan plan);
  ~crew();
  crew(const crew&) = delete;
  crew& operator=(const crew&) = delete;

  /// Takes `message::client_request` and `message::client_cancel`: requests of this process.
  const caf::actor& client() const { return client_; }
  const caf::actor& supervisor() const { return supervisor_; }
  std::uint16_t port() const { return frontends_.empty() ? 0 : frontends_.front()->port(); }

  /// New work is refused, open requests may end; asked twice, they are cut.
  void drain();
  void cut();
  /// Limits and keys from now on; streams go on.
  void change_rules(server_rules rules);

 private:
  explicit crew(caf::actor_system& system) : system_{&system} {}
  void spawn(crew_plan& plan);
  result<void> listen(const crew_plan& plan);
  void introduce() const;

  caf::actor_system* system_;
  caf::actor supervisor_;
  caf::actor scheduler_;
  caf::actor executor_;
  std::shared_ptr<caf::actor> drafter_ = std::make_shared<caf::actor>();  ///< the supervisor's word
  caf::actor client_;
  std::vector<caf::actor> tokenizers_;
  std::vector<caf::actor> parsers_;
  std::vector<std::unique_ptr<frontend>> frontends_;
};

}  // namespace glimmer
