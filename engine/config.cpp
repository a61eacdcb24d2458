#include "engine/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "engine/draft_sizes.hpp"
#include "model/feature_taps.hpp"

namespace glimmer {
namespace {

constexpr std::size_t full = static_cast<std::size_t>(kv_group::full);
constexpr std::size_t sliding = static_cast<std::size_t>(kv_group::sliding);

std::int64_t blocks_covering(const kv_extent& e) {
  return (e.positions + e.block_size - 1) / e.block_size;
}

/// A step is bounded by time too, so that streams go on and cancels are heard beside long prompts.
constexpr duration step_time_max = std::chrono::milliseconds{250};
constexpr std::uint32_t decode_floor = 50;

std::string size_text(double bytes) {
  constexpr double mebi = 1 << 20;
  return std::abs(bytes) < 1024 * mebi ? fmt::format("{:.1f} MiB", bytes / mebi)
                                       : fmt::format("{:.2f} GiB", bytes / mebi / 1024);
}

/// `range`: what is allowed, in words.
std::unexpected<error> refuse(std::string_view name, std::uint64_t value, std::string_view range) {
  return fail(bad_value(name, fmt::format("{} is {}; {}.", name, value, range)));
}

result<dtype> activation_type(const std::string& name) {
  if (name == "auto" || name == "bfloat16") return dtype::bf16;
  if (name == "float32") return dtype::f32;
  return fail(bad_value(
      "dtype", fmt::format("dtype is '{}'; allowed are auto, bfloat16 and float32.", name)));
}

/// `own`: the type of activations.
result<dtype> cache_type(const std::string& name, dtype own) {
  if (name == "auto") return own;
  if (name == "bfloat16") return dtype::bf16;
  if (name == "fp8" || name == "fp8_e4m3") return dtype::f8_e4m3;
  return fail(bad_value("kv_cache_dtype",
                        fmt::format("kv_cache_dtype is '{}'; allowed are auto, bfloat16, fp8 and "
                                    "fp8_e4m3.",
                                    name)));
}

/// The checkpoint's own length unless one is set. A longer one is the operator's to choose: no
/// table of the model depends on it.
result<std::uint32_t> model_len(const engine_settings& settings, const text_config& model) {
  const auto most = static_cast<std::uint32_t>(model.positions_max);
  const auto length = settings.max_model_len.value_or(most);
  if (length == 0) return refuse("max_model_len", length, "at least 1 token is needed");
  return length;
}

result<void> check_counts(const engine_settings& s) {
  if (s.max_num_seqs == 0 || s.max_num_seqs > 65'536)
    return refuse("max_num_seqs", s.max_num_seqs, "allowed are 1 to 65536");
  if (s.max_num_batched_tokens < s.max_num_seqs)
    return refuse("max_num_batched_tokens", s.max_num_batched_tokens,
                  fmt::format("a step must hold one token of each of max_num_seqs = {} sequences",
                              s.max_num_seqs));
  if (s.max_num_batched_tokens > 1'048'576)
    return refuse("max_num_batched_tokens", s.max_num_batched_tokens, "allowed are 1 to 1048576");
  if (!std::has_single_bit(s.block_size) || s.block_size > 256)
    return refuse("block_size", s.block_size, "allowed are powers of two up to 256");
  if (!(s.memory_utilization > 0 && s.memory_utilization <= 1))
    return fail(bad_value("gpu_memory_utilization",
                          fmt::format("gpu_memory_utilization is {}; allowed is more than 0 and at "
                                      "most 1.",
                                      s.memory_utilization)));
  return {};
}

/// What is left for keys and values, and the sum behind it in words.
struct kv_budget {
  double bytes = 0;
  std::string sum;
};

/// Device memory besides weights and caches.
struct work_bytes {
  std::uint64_t activations = 0;
  std::uint64_t draft_head = 0;  ///< weights, scratch memory, residuals
};

work_bytes work_bytes_of(const engine_facts& facts, const engine_config& config) {
  work_bytes out{.activations = activations::bytes(facts.model, config.activations)};
  if (!config.draft) return out;
  const auto& head = facts.draft->head;
  out.draft_head = facts.draft->weight_bytes +
                   draft_head::scratch_bytes(head, *config.draft, facts.model.vocab_size) +
                   feature_taps::bytes(head, config.activations);
  return out;
}

kv_budget budget_of(const engine_settings& settings, const engine_facts& facts,
                    const work_bytes& work) {
  if (settings.kv_cache_bytes) {
    const auto bytes = static_cast<double>(*settings.kv_cache_bytes);
    return {bytes, fmt::format("the KV cache was set to {}", size_text(bytes))};
  }
  const double share = settings.memory_utilization * static_cast<double>(facts.memory_bytes);
  const double usable = std::min(share, static_cast<double>(facts.free_bytes));
  const auto weights = static_cast<double>(facts.weight_bytes);
  const auto activations = static_cast<double>(work.activations);
  const auto head = static_cast<double>(work.draft_head);
  const double left = usable - weights - activations - head;
  const auto head_part = head > 0 ? fmt::format(" - {} draft head", size_text(head)) : "";
  return {left, fmt::format("{} usable (the smaller of {:.0f} % of {} and {} free) - {} weights - "
                            "{} activations{} = {}",
                            size_text(usable), 100 * settings.memory_utilization,
                            size_text(static_cast<double>(facts.memory_bytes)),
                            size_text(static_cast<double>(facts.free_bytes)), size_text(weights),
                            size_text(activations), head_part, size_text(left))};
}

double bytes_of(const kv_layout& layout, const kv_block_counts& blocks) {
  return static_cast<double>(blocks[full]) *
             static_cast<double>(layout.block_bytes(kv_group::full)) +
         static_cast<double>(blocks[sliding]) *
             static_cast<double>(layout.block_bytes(kv_group::sliding));
}

/// The longest sequence that `bytes` hold in both groups.
std::int64_t longest_fitting(const text_config& model, const kv_layout& layout, double bytes) {
  std::int64_t fits = 0, too_long = model.positions_max + 1;
  while (too_long - fits > 1) {
    const auto middle = (fits + too_long) / 2;
    const bool holds =
        bytes_of(layout, blocks_of_sequence(model, {middle, layout.block_size})) <= bytes;
    (holds ? fits : too_long) = middle;
  }
  return fits;
}

kv_extent longest(const scheduler_config& c) {
  return {c.max_model_len, c.block_size, c.drafting.tokens_max};
}

/// Blocks that all sequences of a full step can use at once; more would lie idle.
kv_block_counts most_useful(const text_config& model, const scheduler_config& c) {
  const auto whole = blocks_covering({c.max_model_len, c.block_size});
  const auto window = blocks_of_sequence(model, longest(c))[sliding];
  const auto chunk = blocks_covering({c.max_num_batched_tokens, c.block_size}) + c.max_num_seqs;
  kv_block_counts out{};
  out[full] = c.max_num_seqs * whole;
  out[sliding] = std::min(c.max_num_seqs * whole, c.max_num_seqs * window + chunk);
  return out;
}

kv_block_counts share_out(const text_config& model, const scheduler_config& c,
                          const kv_layout& layout, double bytes) {
  const auto most = most_useful(model, c);
  auto blocks = blocks_of_sequence(model, longest(c));
  const auto mix_tokens = std::min<std::int64_t>(c.max_model_len, 4 * model.window);
  const auto mix = blocks_of_sequence(model, {mix_tokens, c.block_size, c.drafting.tokens_max});
  const double parts = (bytes - bytes_of(layout, blocks)) / bytes_of(layout, mix);
  for (std::size_t g = 0; g < kv_group_count; ++g) {
    const auto more = std::floor(std::min(parts * static_cast<double>(mix[g]), 0x1p40));
    blocks[g] = std::min(most[g], blocks[g] + static_cast<std::int64_t>(more));
  }
  for (const auto g : {kv_group::full, kv_group::sliding}) {  // what one's bound left to the other
    const double left = bytes - bytes_of(layout, blocks);
    const auto i = static_cast<std::size_t>(g);
    const auto more = std::floor(left / static_cast<double>(layout.block_bytes(g)));
    blocks[i] = std::min<std::int64_t>(
        most[i], blocks[i] + static_cast<std::int64_t>(std::clamp(more, 0.0, 0x1p40)));
  }
  return blocks;
}

/// Every buffer follows from what all sequences may verify in one step.
void plan_drafting(engine_config& out, const engine_settings& settings, const engine_facts& facts) {
  const auto& head = facts.draft->head;
  auto sizes = draft_sizes_of(settings, static_cast<std::uint32_t>(head.drafts_max()));
  out.scheduler.drafting = {.tokens_max = sizes.tokens_max,
                            .adaptive = settings.drafter.adaptive,
                            .verify_rows_max = sizes.verify_rows,
                            .vocab_size = static_cast<token_id>(facts.model.vocab_size),
                            .acceptance_floor = settings.drafter.acceptance_floor};
  const std::int64_t rows = sizes.verify_rows;
  out.activations.wanted_rows = rows;
  out.draft =
      draft_limits{.block_rows = rows,
                   .context_rows = std::min<std::int64_t>(settings.max_num_batched_tokens, 512),
                   .logit_rows = std::min<std::int64_t>(rows, 512),
                   .type = out.activations.type};
  out.kv = out.kv.with(head, out.activations.type);
  out.notes = std::move(sizes.notes);
  if (out.scheduler.max_model_len > head.positions_max) {
    out.notes.push_back(fmt::format(
        "the draft head was made for {} positions; behind them it may guess worse (max_model_len "
        "is {})",
        head.positions_max, out.scheduler.max_model_len));
  }
}

}  // namespace

kv_block_counts blocks_of_sequence(const text_config& model, const kv_extent& extent) {
  const auto all = blocks_covering(extent);
  kv_block_counts out{};
  out[full] = all;
  out[sliding] =
      std::min(all, blocks_covering({model.window - 1 + extent.look_ahead, extent.block_size}) + 1);
  return out;
}

result<engine_config> derive_config(const engine_settings& settings, const engine_facts& facts) {
  const auto& model = facts.model;
  if (const auto fine = check_counts(settings); !fine) return fail(fine.error());
  const auto type = activation_type(settings.dtype);
  if (!type) return fail(type.error());
  const auto cached = cache_type(settings.kv_cache_dtype, *type);
  if (!cached) return fail(cached.error());
  const auto length = model_len(settings, model);
  if (!length) return fail(length.error());

  engine_config out;
  const auto cpus = static_cast<std::uint32_t>(settings.cpus.size());
  out.threads = settings.threads != 0 ? settings.threads : cpus;
  out.quantization = facts.quantization;
  out.activations = {
      .rows = settings.max_num_batched_tokens, .wanted_rows = settings.max_num_seqs, .type = *type};
  out.kv = kv_layout::of(model, settings.block_size, *cached);
  out.scheduler.max_model_len = *length;
  out.scheduler.max_num_seqs = settings.max_num_seqs;
  out.scheduler.max_num_batched_tokens = settings.max_num_batched_tokens;
  out.scheduler.block_size = settings.block_size;
  out.scheduler.window = static_cast<std::uint32_t>(model.window);
  out.scheduler.prefix_caching = settings.prefix_caching;
  out.scheduler.end_tokens = facts.end_tokens;
  out.scheduler.pace = {.step_time_max = step_time_max, .decode_floor_percent = decode_floor};

  if (facts.draft && settings.drafter.wanted()) plan_drafting(out, settings, facts);
  const auto budget = budget_of(settings, facts, work_bytes_of(facts, out));
  const auto one = blocks_of_sequence(model, longest(out.scheduler));
  const double needed = bytes_of(out.kv, one);
  if (needed > budget.bytes)
    return fail(bad_value(
        "max_model_len",
        fmt::format("One sequence of max_model_len {} needs {} blocks of {} bytes and {} of {} "
                    "bytes, {} of KV cache; but {}. At most {} tokens fit: lower max_model_len, or "
                    "give the KV cache more memory.",
                    *length, one[full], out.kv.block_bytes(kv_group::full), one[sliding],
                    out.kv.block_bytes(kv_group::sliding), size_text(needed), budget.sum,
                    longest_fitting(model, out.kv, budget.bytes))));
  out.kv_blocks = share_out(model, out.scheduler, out.kv, budget.bytes);
  for (std::size_t g = 0; g < kv_group_count; ++g)
    out.scheduler.blocks[g] = static_cast<std::uint32_t>(out.kv_blocks[g]);
  if (const auto fine = check(out.scheduler); !fine) return fail(fine.error());
  out.summary =
      fmt::format("KV cache: {} full and {} sliding blocks of {} positions in {}, {}; {}.",
                  out.kv_blocks[full], out.kv_blocks[sliding], settings.block_size,
                  to_string(*cached), size_text(bytes_of(out.kv, out.kv_blocks)), budget.sum);
  return out;
}

}  // namespace glimmer
