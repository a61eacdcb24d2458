#include "tests/actors/gated_stepper.hpp"

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

bool step_gate::enter(const step_plan& plan) {
  std::unique_lock lock{mutex_};
  for (const auto& rows : plan.sequences) ++steps_[rows.id];
  inside_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !shut_; });
  inside_ = false;
  return std::exchange(failing_, false);
}

result<step_result> gated_stepper::run(const step_plan& plan) {
  for (const auto id : plan.dropped) prompts_.erase(id);
  for (const auto& start : plan.started) {
    prompts_[start.id] = static_cast<std::uint32_t>(start.prompt->size());
  }
  if (gate_->enter(plan)) {
    return fail({error_kind::device, "device_lost", "", "The device did not answer."});
  }
  step_result out{.id = plan.id, .sequences = {}};
  for (const auto& rows : plan.sequences) {
    auto& got = out.sequences.emplace_back();
    got.id = rows.id;
    if (!rows.sample) continue;
    const auto index = rows.position + rows.count - prompts_.at(rows.id);
    got.tokens.push_back(index < says_.script.size()
                             ? says_.script[index]
                             : static_cast<token_id>(philox4x32({index, 0, 0, 0}, {1, 2})[0] %
                                                     static_cast<std::uint32_t>(says_.words)));
  }
  return out;
}

}  // namespace glimmer
