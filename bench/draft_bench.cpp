// Decoding with a draft head against decoding without, in turns in one process:
// draft_bench TARGET HEAD FORMAT [STREAMS] [DRAFTS] [TOKENS] [PAIRS], FORMAT bf16, int8 or int4.
// The head does its real work; what it proposes is an oracle's, accepted as often as a trained
// head's. Steps are lockstep, without a scheduler.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/assert.hpp"
#include "bench/figure.hpp"
#include "bench/oracle_proposer.hpp"
#include "executor/draft_runner.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "model/checkpoint.hpp"

namespace glimmer {
namespace {

constexpr std::uint32_t prompt_size = 64;
constexpr std::uint32_t block_size = 16;
constexpr std::string_view format_names[] = {"bf16", "int8", "int4"};

struct workload {
  std::uint32_t streams = 1;
  std::uint32_t drafts = 15;
  std::uint32_t tokens = 64;
  std::uint32_t pairs = 20;
  load_quantization format = load_quantization::none;

  /// A last round may run on, and the truth must reach as far.
  std::uint32_t tokens_known() const { return tokens + 2 * drafts + 1; }
  std::uint32_t length() const { return prompt_size + tokens_known() + drafts + 2; }
  std::uint32_t blocks_each() const { return (length() + block_size - 1) / block_size; }
};

/// Executor, head and oracle over one target and head.
struct machine {
  std::unique_ptr<device> home;
  std::optional<executor> steps;
  std::optional<draft_runner> head;
  std::optional<oracle_proposer> oracle;
  std::uint64_t next_step = 1;
  std::uint64_t next_id = 1;
};

template <class T>
T must(result<T> r) {
  if (r) return std::move(*r);
  std::fprintf(stderr, "draft_bench: %s\n", r.error().text.c_str());
  std::exit(2);
}

void load(machine& m, const std::filesystem::path& target, const std::filesystem::path& head,
          const workload& w) {
  const auto threads = std::thread::hardware_concurrency();
  m.home = make_cpu_device({.threads = threads});
  const auto source = must(open_checkpoint(target));
  const auto& text = source.config.text;
  const auto draft = must(open_draft_checkpoint(head, text));
  const std::int64_t rows = w.streams * std::max(w.drafts + 1, prompt_size);
  const activation_limits limits{
      .rows = rows, .wanted_rows = w.streams * (w.drafts + 1), .type = dtype::bf16};
  auto model =
      must(decoder::make(*m.home, text, must(load_weights(*m.home, source, w.format)), limits));
  const std::int64_t blocks = w.streams * w.blocks_each();
  auto caches = must(kv_caches::allocate(
      *m.home, text, kv_layout::of(text, block_size, dtype::bf16).with(draft.config, dtype::bf16),
      {blocks, blocks}));
  auto taps = must(feature_taps::allocate(*m.home, draft.config, limits));
  m.steps.emplace(*m.home, std::move(model), std::move(caches),
                  executor_options{.sampling_threads = threads, .taps = std::move(taps)});
  auto made = must(draft_head::make(*m.home, draft.config,
                                    must(load_draft_weights(*m.home, draft, w.format)),
                                    {.block_rows = w.streams * (w.drafts + 1),
                                     .context_rows = std::min<std::int64_t>(rows, 512),
                                     .logit_rows = w.streams * w.drafts},
                                    text.vocab_size));
  m.head.emplace(*m.steps, std::move(made));
  m.oracle.emplace(*m.head, oracle_proposer::rule{});
}

struct stream {
  sequence_id id;
  std::vector<token_id> tokens;
  std::vector<token_id> drafts;
  std::uint32_t computed = 0;
};

/// All streams from their prompts on, each until it has so many tokens more; blocks are theirs for
/// good.
class run {
 public:
  struct extent {
    std::uint32_t drafts = 0;
    std::uint32_t tokens = 0;
  };
  run(machine& m, const workload& w, extent e) : m_{m}, w_{w}, extent_{e} {
    for (std::uint32_t i = 0; i < w.streams; ++i) {
      stream s{.id = {m.next_id++}};
      for (std::uint32_t t = 0; t < prompt_size; ++t)
        s.tokens.push_back(static_cast<token_id>(1 + (i * 977 + t * 131) % 800));
      streams_.push_back(std::move(s));
    }
  }

  /// Streams are taught when there is a truth. Returns seconds behind the prompts.
  double decode(const std::vector<std::vector<token_id>>& truth) {
    for (std::size_t i = 0; i < truth.size(); ++i) m_.oracle->teach(streams_[i].id, truth[i]);
    step();
    const auto begin = std::chrono::steady_clock::now();
    while (std::ranges::any_of(streams_, [&](const stream& s) { return running(s); })) step();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    step_plan end{.id = {m_.next_step++}};
    for (const auto& s : streams_) end.dropped.push_back(s.id);
    must(m_.steps->run(end));
    return spent.count();
  }

  const std::vector<stream>& streams() const { return streams_; }
  std::uint64_t emitted() const { return emitted_; }
  /// Tokens of a step that verified drafts.
  double tokens_per_round() const {
    return static_cast<double>(emitted_in_rounds_) / static_cast<double>(rounds_);
  }

 private:
  bool running(const stream& s) const { return s.tokens.size() < prompt_size + 1 + extent_.tokens; }

  step_plan plan_of(const std::vector<std::size_t>& live) {
    step_plan plan{.id = {m_.next_step++}};
    for (const auto i : live) {
      auto& s = streams_[i];
      if (s.computed == 0) {
        plan.started.push_back({.id = s.id,
                                .params = std::make_shared<const sampling_params>(
                                    sampling_params{.temperature = 0, .max_tokens = 1 << 20}),
                                .prompt = std::make_shared<const std::vector<token_id>>(s.tokens)});
      }
      const auto known = static_cast<std::uint32_t>(s.tokens.size()) - s.computed;
      const auto drafts = static_cast<std::uint32_t>(s.drafts.size());
      sequence_rows rows{.id = s.id,
                         .token_begin = static_cast<std::uint32_t>(plan.tokens.size()),
                         .count = known + drafts,
                         .position = s.computed,
                         .sample = true,
                         .drafts = drafts};
      const auto begin = static_cast<std::uint32_t>(plan.blocks.size());
      for (std::uint32_t b = 0; b < w_.blocks_each(); ++b)
        plan.blocks.push_back(static_cast<block_id>(i * w_.blocks_each() + b));
      rows.tables[0] = rows.tables[1] = {begin, w_.blocks_each(), 0};
      plan.tokens.insert(plan.tokens.end(), s.tokens.begin() + s.computed, s.tokens.end());
      plan.tokens.insert(plan.tokens.end(), s.drafts.begin(), s.drafts.end());
      plan.sequences.push_back(rows);
    }
    return plan;
  }

  void step() {
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i < streams_.size(); ++i)
      if (running(streams_[i])) live.push_back(i);
    const auto plan = plan_of(live);
    const auto got = must(m_.steps->run(plan));
    draft_plan drafts{.id = plan.id, .sequences = {}, .blocks = plan.blocks};
    for (std::size_t n = 0; n < live.size(); ++n) {
      auto& s = streams_[live[n]];
      const auto& rows = plan.sequences[n];
      const auto& fresh = got.sequences[n].tokens;
      const auto committed =
          rows.count - rows.drafts + static_cast<std::uint32_t>(fresh.size()) - 1;
      s.tokens.insert(s.tokens.end(), fresh.begin(), fresh.end());
      s.computed += committed;
      emitted_ += fresh.size();
      if (!s.drafts.empty()) {
        ++rounds_;
        emitted_in_rounds_ += fresh.size();
      }
      drafts.sequences.push_back({.id = s.id,
                                  .row = rows.token_begin,
                                  .count = committed,
                                  .position = rows.position,
                                  .anchor = s.tokens.back(),
                                  .drafts = running(s) ? extent_.drafts : 0,
                                  .table = rows.tables[1]});
      s.drafts.clear();
    }
    if (extent_.drafts == 0) return;
    const auto proposed = must(m_.oracle->run(drafts));
    auto next = proposed.sequences.begin();
    for (std::size_t n = 0; n < live.size(); ++n)
      if (drafts.sequences[n].drafts > 0) streams_[live[n]].drafts = (next++)->tokens;
  }

  machine& m_;
  const workload& w_;
  extent extent_;
  std::vector<stream> streams_;
  std::uint64_t rounds_ = 0;
  std::uint64_t emitted_in_rounds_ = 0;
  std::uint64_t emitted_ = 0;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(machine& m, const workload& w) {
  std::vector<std::vector<token_id>> truth;
  run first{m, w, {0, w.tokens_known()}};
  first.decode({});
  for (const auto& s : first.streams()) truth.push_back(s.tokens);

  std::vector<double> plain, drafted, ratios;
  double tau = 0;
  for (std::uint32_t pair = 0; pair < w.pairs; ++pair) {
    run off{m, w, {0, w.tokens}};
    run on{m, w, {w.drafts, w.tokens}};
    double seconds[2];
    for (const auto turn : {pair % 2, 1 - pair % 2})
      seconds[turn] = turn == 0 ? off.decode({}) : on.decode(truth);
    for (std::size_t i = 0; i < truth.size(); ++i) {
      const auto& tokens = on.streams()[i].tokens;
      const auto count = std::min(tokens.size(), truth[i].size());
      GLIMMER_ASSERT(std::equal(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count),
                                truth[i].begin()),
                     "drafting changes no token");
    }
    plain.push_back(static_cast<double>(off.emitted()) / seconds[0]);
    drafted.push_back(static_cast<double>(on.emitted()) / seconds[1]);
    ratios.push_back(drafted.back() / plain.back());
    tau = on.tokens_per_round();
  }
  const auto subject = std::string{format_names[static_cast<int>(w.format)]} + ", " +
                       std::to_string(w.streams) + " streams, " + std::to_string(w.drafts) +
                       " drafts";
  figure_line{{.bench = "draft", .subject = subject}}
      .add("plain_tokens_per_second", median(plain))
      .add("drafted_tokens_per_second", median(drafted))
      .add("ratio_p50", median(ratios))
      .add("tokens_per_round", tau)
      .print();
}

bool read_format(std::string_view text, load_quantization& to) {
  const auto at = std::ranges::find(format_names, text);
  if (at == std::end(format_names)) return false;
  to = static_cast<load_quantization>(at - std::begin(format_names));
  return true;
}

bool read_number(std::string_view text, std::uint32_t& to) {
  const auto end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, to);
  return failed == std::errc{} && at == end && to > 0;
}

}  // namespace
}  // namespace glimmer

int main(int argc, char** argv) {
  glimmer::workload w;
  std::uint32_t* const numbers[] = {&w.streams, &w.drafts, &w.tokens, &w.pairs};
  bool right = argc >= 4 && argc <= 8 && glimmer::read_format(argv[3], w.format);
  for (int i = 4; right && i < argc; ++i) right = glimmer::read_number(argv[i], *numbers[i - 4]);
  if (!right) {
    std::fprintf(stderr,
                 "usage: draft_bench TARGET HEAD FORMAT [STREAMS] [DRAFTS] [TOKENS] [PAIRS]\n");
    return 2;
  }
  glimmer::machine m;
  glimmer::load(m, argv[1], argv[2], w);
  glimmer::measure(m, w);
}
