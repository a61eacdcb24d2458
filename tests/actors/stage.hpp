#pragma once

#include <boost/test/unit_test.hpp>
#include <caf/all.hpp>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "actors/crew.hpp"
#include "actors/messages.hpp"
#include "tests/actors/gated_stepper.hpp"
#include "tests/tokenizer/fixture.hpp"

namespace glimmer::test {

/// What a hang would take; nothing here waits for time to pass.
constexpr auto patience = std::chrono::minutes{2};

/// Collects the parts of one answer.
class inbox {
 public:
  answer_sink sink() const {
    return [to = box_](const answer_part& part) {
      const std::lock_guard guard{to->mutex};
      to->parts.push_back(part);
      to->changed.notify_all();
    };
  }
  /// Waits for so many parts, or for the last one.
  std::vector<answer_part> wait_parts(std::size_t count) const {
    return wait([&](const auto& parts) { return parts.size() >= count; });
  }
  std::vector<answer_part> wait_last() const {
    return wait([](const auto&) { return false; });
  }
  /// The whole answer: its first status, all its bytes.
  answer_part whole() const {
    const auto parts = wait_last();
    answer_part out{.status = parts.front().status, .bytes = "", .last = true};
    for (const auto& part : parts) out.bytes += part.bytes;
    return out;
  }
  /// Last parts so far: never more than one.
  std::size_t ends() const {
    const std::lock_guard guard{box_->mutex};
    return static_cast<std::size_t>(std::ranges::count(box_->parts, true, &answer_part::last));
  }

 private:
  struct box {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<answer_part> parts;
  };
  template <class Done>
  std::vector<answer_part> wait(Done done) const {
    std::unique_lock lock{box_->mutex};
    const auto& parts = box_->parts;
    const bool came = box_->changed.wait_for(
        lock, patience, [&] { return done(parts) || (!parts.empty() && parts.back().last); });
    BOOST_REQUIRE_MESSAGE(came, "an answer stays away");
    return parts;
  }
  std::shared_ptr<box> box_ = std::make_shared<box>();
};

/// How a stage differs from the usual one.
struct stage_options {
  std::uint32_t tokenizers = 1;
  std::uint32_t parsers = 1;
  stepper_factory load;  ///< empty: a gated stepper
  bool drafting = false;
  proposer_factory draft;  ///< with `drafting`; empty: a gated proposer
  duration draft_wait_max = std::chrono::minutes{1};
};

/// A crew without a model: real tokenizer, scheduler and parsers around a scripted stepper.
class stage {
 public:
  explicit stage(stage_options options = {});
  ~stage() {
    gate->open();
    gate->open_drafter();
  }

  void wait_ready() {
    BOOST_REQUIRE((ready_.get_future().wait_for(patience) == std::future_status::ready));
  }
  engine_end wait_end() {
    auto ended = ended_.get_future();
    BOOST_REQUIRE((ended.wait_for(patience) == std::future_status::ready));
    return ended.get();
  }
  /// Submits a chat; `fields` are further members of its body. Requests are numbered from 1.
  inbox submit(std::string_view fields = "");
  void cancel(std::uint64_t ticket) {
    caf::anon_send(actors->client(), message::client_cancel{client_ticket{ticket}});
  }

  std::shared_ptr<step_gate> gate = std::make_shared<step_gate>();

 private:
  std::promise<void> ready_;
  std::promise<engine_end> ended_;
  std::uint64_t tickets_ = 0;
  caf::actor_system_config config_;
  caf::actor_system system_{config_};

 public:
  std::unique_ptr<crew> actors;
};

}  // namespace glimmer::test
