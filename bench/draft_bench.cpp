// Decoding with a draft head against decoding without, in turns in one process:
// draft_bench TARGET HEAD FORMAT [STREAMS] [DRAFTS] [TOKENS] [PAIRS], FORMAT bf16, int8 or int4.
// The head does its real work; what it proposes is an oracle's, accepted as often as a trained
// head's. How many tokens are drafted is the scheduler's choice, up to DRAFTS.
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
#include "engine/step_loop.hpp"
#include "executor/draft_runner.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "model/checkpoint.hpp"
#include "scheduler/scheduler.hpp"

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
  std::uint32_t window = 0;
  token_id vocab_size = 0;
  std::uint64_t last_id = 0;
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
  m.window = static_cast<std::uint32_t>(text.window);
  m.vocab_size = static_cast<token_id>(text.vocab_size);
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

/// One way of decoding: a scheduler that lives as long as the program, so that what it learns of
/// costs and acceptance it knows from run to run. Both ways use the same blocks, in turns.
struct way {
  scheduler plans;
  proposer* drafts = nullptr;
};

scheduler_config config_of(const machine& m, const workload& w, std::uint32_t drafts) {
  const auto blocks = w.streams * w.blocks_each();
  return {.max_model_len = w.length(),
          .max_num_seqs = w.streams,
          .max_num_batched_tokens = w.streams * std::max(w.drafts + 1, prompt_size),
          .max_partial_prefills = w.streams,
          .pace = {},
          .drafting = {.tokens_max = drafts,
                       .verify_rows_max = w.streams * (w.drafts + 1),
                       .vocab_size = m.vocab_size},
          .block_size = block_size,
          .blocks = {blocks, blocks},
          .window = m.window,
          .end_tokens = {}};
}

struct outcome {
  std::vector<std::vector<token_id>> tokens;  ///< of each stream, prompt included
  double tokens_per_second = 0;               ///< behind the prompts
};

/// All streams from their prompts on, until each has `count` tokens and one more. Streams are
/// taught when there is a truth.
outcome decode(machine& m, way& by, const workload& w, std::uint32_t count,
               const std::vector<std::vector<token_id>>& truth) {
  const auto now = [] { return time_point{std::chrono::steady_clock::now().time_since_epoch()}; };
  outcome out;
  const std::uint64_t first = m.last_id + 1;
  for (std::uint32_t i = 0; i < w.streams; ++i) {
    const sequence_id id{++m.last_id};
    auto& prompt = out.tokens.emplace_back();
    for (std::uint32_t t = 0; t < prompt_size; ++t) {
      prompt.push_back(static_cast<token_id>(1 + (i * 977 + t * 131) % 800));
    }
    if (!truth.empty()) m.oracle->teach(id, truth[i]);
    must(by.plans.admit(
        {.request = {id.value},
         .choices = {{id, std::make_shared<const sampling_params>(sampling_params{
                              .temperature = 0, .max_tokens = count + 1, .ignore_eos = true})}},
         .prompt = std::make_shared<const std::vector<token_id>>(prompt)},
        now()));
  }
  std::size_t begun = 0;
  std::uint64_t emitted = 0;
  time_point begin;
  while (const auto step = run_one_step(by.plans, *m.steps, now, by.drafts)) {
    for (const auto& output : step->outputs) {
      auto& tokens = out.tokens[output.id.value - first];
      begun += tokens.size() == prompt_size;
      emitted += begin == time_point{} ? 0 : output.tokens.size();
      tokens.insert(tokens.end(), output.tokens.begin(), output.tokens.end());
      by.plans.grant(output.id, static_cast<std::uint32_t>(output.tokens.size()));
    }
    if (begun == w.streams && begin == time_point{}) begin = now();
  }
  const std::chrono::duration<double> took = now() - begin;
  out.tokens_per_second = static_cast<double>(emitted) / took.count();
  return out;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(machine& m, const workload& w) {
  way off{scheduler{config_of(m, w, 0)}};
  way on{scheduler{config_of(m, w, w.drafts)}, &*m.oracle};
  on.plans.drafter_ready();
  const auto truth = decode(m, off, w, w.tokens_known(), {}).tokens;

  std::vector<double> plain, drafted, ratios;
  for (std::uint32_t pair = 0; pair < w.pairs; ++pair) {
    outcome of[2];
    for (const auto turn : {pair % 2, 1 - pair % 2}) {
      of[turn] = decode(m, turn == 0 ? off : on, w, w.tokens, truth);
    }
    GLIMMER_ASSERT(of[0].tokens == of[1].tokens, "drafting changes no token");
    plain.push_back(of[0].tokens_per_second);
    drafted.push_back(of[1].tokens_per_second);
    ratios.push_back(drafted.back() / plain.back());
  }
  const auto stats = on.plans.stats().drafting;
  const auto rounds = static_cast<double>(std::max<std::uint64_t>(stats.rounds, 1));
  const auto subject = std::string{format_names[static_cast<int>(w.format)]} + ", " +
                       std::to_string(w.streams) + " streams, up to " + std::to_string(w.drafts) +
                       " drafts";
  figure_line{{.bench = "draft", .subject = subject}}
      .add("plain_tokens_per_second", median(plain))
      .add("drafted_tokens_per_second", median(drafted))
      .add("ratio_p50", median(ratios))
      .add("drafts_per_round", static_cast<double>(stats.drafted) / rounds)
      .add("tokens_per_round", 1 + static_cast<double>(stats.accepted) / rounds)
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
