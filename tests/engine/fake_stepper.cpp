#include "tests/engine/fake_stepper.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.hpp"
#include "base/random.hpp"

namespace glimmer {
namespace {

constexpr std::int32_t never_written = -1;

std::uint64_t mixed(std::uint64_t hash, std::int32_t value) {
  const auto words =
      philox4x32({static_cast<std::uint32_t>(value), 0, 0, 0},
                 {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)});
  return std::uint64_t{words[0]} << 32 | words[1];
}

}  // namespace

fake_stepper::fake_stepper(const scheduler_config& config, const options& with)
    : config_{config}, with_{with}, sampling_{config.end_tokens, 1} {
  for (std::size_t g = 0; g < kv_group_count; ++g)
    slots_[g].assign(std::size_t{config.blocks[g]} * config.block_size, never_written);
}

std::int32_t& fake_stepper::slot(const step_plan& plan, const sequence_rows& s, kv_group group,
                                 std::uint32_t position) {
  const auto& table = s.tables[static_cast<std::size_t>(group)];
  const auto place = position / config_.block_size;
  GLIMMER_ASSERT(place >= table.first_block && place - table.first_block < table.count,
                 "a table covers what its rows see");
  const auto block = plan.blocks[table.begin + place - table.first_block];
  return slots_[static_cast<std::size_t>(group)].at(
      static_cast<std::size_t>(block) * config_.block_size + position % config_.block_size);
}

std::vector<float> fake_stepper::logits_of(const step_plan& plan, std::int32_t row) const {
  const auto index = static_cast<std::uint32_t>(row);
  const auto s = std::find_if(plan.sequences.begin(), plan.sequences.end(), [&](const auto& r) {
    return index >= r.token_begin && index < r.token_begin + r.count;
  });
  const auto position = s->position + index - s->token_begin;
  const auto window_begin = position + 1 > config_.window ? position + 1 - config_.window : 0;
  std::uint64_t hash = 1;
  bool poisoned = false;
  auto& self = const_cast<fake_stepper&>(*this);
  for (const auto group : {kv_group::full, kv_group::sliding})
    for (auto p = group == kv_group::full ? 0 : window_begin; p <= position; ++p) {
      const auto key = self.slot(plan, *s, group, p);
      GLIMMER_ASSERT(key != never_written, "a row sees only keys that were written");
      hash = mixed(hash, key);
      poisoned |= with_.poison == key;
    }
  std::vector<float> out(with_.vocab);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(uniform_draw({.seed = hash, .position = i}) * 8);
  if (poisoned) out[out.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  return out;
}

result<step_result> fake_stepper::run(const step_plan& plan) {
  sampling_.begin(plan);
  if (plan.id.value == with_.failing_step) {
    sampling_.finish();
    return fail({error_kind::device, "device_lost", "", "The device did not answer."});
  }
  rows_max_ = std::max(rows_max_, static_cast<std::uint32_t>(plan.tokens.size()));
  for (const auto& copy : plan.copies) {
    auto& slots = slots_[static_cast<std::size_t>(copy.group)];
    const auto size = static_cast<std::ptrdiff_t>(config_.block_size);
    std::copy_n(slots.begin() + copy.from * size, size, slots.begin() + copy.to * size);
  }
  for (const auto& s : plan.sequences)
    for (std::uint32_t r = 0; r < s.count; ++r)
      for (const auto group : {kv_group::full, kv_group::sliding})
        slot(plan, s, group, s.position + r) = plan.tokens[s.token_begin + r];

  std::vector<float> logits;
  for (const auto row : sampling_.wanted()) {
    const auto values = logits_of(plan, row);
    logits.insert(logits.end(), values.begin(), values.end());
  }
  sampling_.take(sampling_.tasks(), logits, [](std::size_t tasks, const auto& body) {
    for (std::size_t i = 0; i < tasks; ++i) body(i);
  });
  return sampling_.finish();
}

}  // namespace glimmer
