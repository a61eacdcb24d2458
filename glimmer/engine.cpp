#include "glimmer/engine.hpp"

#include <atomic>
#include <caf/all.hpp>
#include <mutex>
#include <utility>

#include "actors/crew.hpp"
#include "actors/messages.hpp"
#include "glimmer/actor_handles.hpp"
#include "glimmer/assembly.hpp"
#include "glimmer/version.hpp"

namespace glimmer {
namespace {

/// The scheduler of CAF: `sharing` wakes an idle worker in microseconds and costs nothing idle. Our
/// busy actors are detached, so one worker is enough.
struct own_system_config : caf::actor_system_config {
  own_system_config() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{1});
  }
};

class crewed_engine final : public engine {
 public:
  /// What it was made from.
  struct origin {
    std::string model_name;
    server_options options;
    event_log log;
  };
  crewed_engine(std::unique_ptr<own_system_config> config, std::unique_ptr<caf::actor_system> own,
                std::unique_ptr<crew> actors, origin from)
      : config_{std::move(config)},
        own_{std::move(own)},
        crew_{std::move(actors)},
        from_{std::move(from)} {}

  submission submit(std::string_view chat_request, answer_sink sink) override {
    const submission which{++submitted_};
    caf::anon_send(crew_->client(),
                   message::client_request{client_ticket{which.number},
                                           std::make_shared<const std::string>(chat_request),
                                           std::move(sink)});
    return which;
  }
  void cancel(submission which) override {
    caf::anon_send(crew_->client(), message::client_cancel{client_ticket{which.number}});
  }
  void drain() override {
    if (draining_.exchange(true)) return crew_->cut();
    crew_->drain();
  }
  void reload(const server_options& options) override {
    const std::lock_guard guard{reloading_};
    for (const auto& name : settings_to_restart_for(from_.options, options)) {
      from_.log.warning("reload", "ignored until a restart: " + name);
    }
    from_.log.set_least(parse_log_level(options.log_level));
    crew_->change_rules(rules_of(options));
    from_.options = options;
    from_.log.info("reload", "limits, keys and log level are taken over");
  }
  std::uint16_t port() const override { return crew_->port(); }
  const std::string& model_name() const override { return from_.model_name; }
  caf::actor supervisor() const { return crew_->supervisor(); }

 private:
  std::unique_ptr<own_system_config> config_;  // outlives the system
  std::unique_ptr<caf::actor_system> own_;     // outlives the crew; empty in a host's system
  std::unique_ptr<crew> crew_;
  origin from_;
  std::mutex reloading_;  // guards from_.options
  std::atomic<std::uint64_t> submitted_ = 0;
  std::atomic<bool> draining_ = false;
};

engine_events filled(engine_events events) {
  if (!events.on_ready) events.on_ready = [] {};
  if (!events.on_end) events.on_end = [](int) {};
  return events;
}

}  // namespace

result<std::unique_ptr<engine>> engine::load(const server_options& options, engine_events events,
                                             with_http http) {
  auto plan = assemble(options, filled(std::move(events)), http);
  if (!plan) return fail(plan.error());
  crewed_engine::origin from{std::move(plan->model_name), options, plan->plan.supervision.log};
  auto config = std::make_unique<own_system_config>();
  auto system = std::make_unique<caf::actor_system>(*config);
  auto actors = crew::muster(*system, std::move(plan->plan));
  if (!actors) return fail(actors.error());
  return std::unique_ptr<engine>{
      new crewed_engine{std::move(config), std::move(system), std::move(*actors), std::move(from)}};
}

result<std::unique_ptr<engine>> load_engine(caf::actor_system& system,
                                            const server_options& options, engine_events events,
                                            engine::with_http http) {
  auto plan = assemble(options, filled(std::move(events)), http);
  if (!plan) return fail(plan.error());
  crewed_engine::origin from{std::move(plan->model_name), options, plan->plan.supervision.log};
  auto actors = crew::muster(system, std::move(plan->plan));
  if (!actors) return fail(actors.error());
  return std::unique_ptr<engine>{
      new crewed_engine{nullptr, nullptr, std::move(*actors), std::move(from)}};
}

caf::actor supervisor_of(const engine& which) {
  return static_cast<const crewed_engine&>(which).supervisor();
}

std::string_view glimmer_version() {
  return version_text;
}

}  // namespace glimmer
