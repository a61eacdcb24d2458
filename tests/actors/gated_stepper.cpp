#include "tests/actors/gated_stepper.hpp"

#include <stdexcept>
#include <utility>

#include "base/random.hpp"

namespace glimmer {

void step_gate::shut() {
  const std::lock_guard guard{mutex_};
  shut_ = true;
}

void step_gate::open() {
  const std::lock_guard guard{mutex_};
  shut_ = false;
  changed_.notify_all();
}

void step_gate::fail_next() {
  const std::lock_guard guard{mutex_};
  failing_ = true;
}

void step_gate::wait_inside() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return inside_; });
}

std::uint32_t step_gate::steps_with(sequence_id sequence) const {
  const std::lock_guard guard{mutex_};
  const auto at = steps_.find(sequence);
  return at == steps_.end() ? 0 : at->second;
}

void step_gate::shut_drafter() {
  const std::lock_guard guard{mutex_};
  drafter_shut_ = true;
}

void step_gate::open_drafter() {
  const std::lock_guard guard{mutex_};
  drafter_shut_ = false;
  changed_.notify_all();
}

void step_gate::wait_drafter_inside() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return drafter_inside_; });
}

void step_gate::kill_drafter() {
  const std::lock_guard guard{mutex_};
  drafter_dying_ = true;
}

std::uint32_t step_gate::drafted() const {
  const std::lock_guard guard{mutex_};
  return drafted_;
}

std::uint32_t step_gate::drafters() const {
  const std::lock_guard guard{mutex_};
  return drafters_;
}

void step_gate::wait_drafted(std::uint32_t plans) {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return drafted_ >= plans; });
}

bool step_gate::enter_drafter() {
  std::unique_lock lock{mutex_};
  drafter_inside_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !drafter_shut_; });
  drafter_inside_ = false;
  return std::exchange(drafter_dying_, false);
}

void step_gate::count_drafted() {
  const std::lock_guard guard{mutex_};
  ++drafted_;
  changed_.notify_all();
}

void step_gate::count_drafter() {
  const std::lock_guard guard{mutex_};
  ++drafters_;
}

std::uint32_t step_gate::prompt_of(sequence_id sequence) const {
  const std::lock_guard guard{mutex_};
  return prompts_.at(sequence);
}

bool step_gate::enter(const step_plan& plan) {
  std::unique_lock lock{mutex_};
  for (const auto& start : plan.started) {
    prompts_[start.id] = static_cast<std::uint32_t>(start.prompt->size());
  }
  for (const auto& rows : plan.sequences) ++steps_[rows.id];
  inside_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !shut_; });
  inside_ = false;
  return std::exchange(failing_, false);
}

token_id gated_lines::at(std::uint32_t index) const {
  if (index < script.size()) return script[index];
  return static_cast<token_id>(philox4x32({index, 0, 0, 0}, {1, 2})[0] %
                               static_cast<std::uint32_t>(words));
}

result<step_result> gated_stepper::run(const step_plan& plan) {
  if (gate_->enter(plan)) {
    return fail({error_kind::device, "device_lost", "", "The device did not answer."});
  }
  step_result out{.id = plan.id, .sequences = {}};
  for (const auto& rows : plan.sequences) {
    auto& got = out.sequences.emplace_back();
    got.id = rows.id;
    if (!rows.sample) continue;
    const auto drafts_at = rows.count - rows.drafts;
    const auto index = rows.position + drafts_at - gate_->prompt_of(rows.id);
    for (std::uint32_t i = 0; i <= rows.drafts; ++i) {
      got.tokens.push_back(says_.at(index + i));
      const bool more = i < rows.drafts;
      if (more && plan.tokens[rows.token_begin + drafts_at + i] != got.tokens.back()) break;
    }
  }
  return out;
}

result<draft_result> gated_proposer::run(const draft_plan& plan) {
  if (gate_->enter_drafter()) throw std::runtime_error{"told to die"};
  draft_result out{.id = plan.id, .sequences = {}};
  for (const auto& rows : plan.sequences) {
    if (rows.drafts == 0) continue;
    auto& drafts = out.sequences.emplace_back(sequence_drafts{.id = rows.id, .tokens = {}});
    const auto next = rows.position + rows.count + 1 - gate_->prompt_of(rows.id);
    for (std::uint32_t i = 0; i < rows.drafts; ++i) {
      drafts.tokens.push_back((next + i) % 7 == 0 ? 0 : says_.at(next + i));
    }
  }
  gate_->count_drafted();
  return out;
}

}  // namespace glimmer
