#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/random.hpp"
#include "bench/program/command_line.hpp"
#include "bench/program/commands.hpp"
#include "bench/program/measure.hpp"
#include "bench/program/report.hpp"
#include "bench/program/roofline.hpp"
#include "engine/load.hpp"
#include "engine/offline_engine.hpp"
#include "model/weight_loader.hpp"

namespace glimmer {
namespace {

constexpr known_flag flags[] = {
    {"json", "", "!one JSON object a line"},
    {"threads", "0", "threads that compute; 0 = one per core"},
    {"clock", "wall", "model: wall, or cpu: the process's own time a thread, for busy machines"},
    {"quantization", "", "int8 or int4: quantise plain weights at load"},
    {"kv-cache-dtype", "auto", "auto, bfloat16 or fp8"},
    {"dtype", "auto", "auto, bfloat16 or float32"},
    {"max-num-seqs", "64", "sequences computed at a time"},
    {"runs", "5", "model: prompts, and steps, of which the median is told"},
    {"prefill", "512", "model: lengths of prompts"},
    {"batch", "1,8,16", "model: sequences decoded at a time"},
    {"context", "128", "model: tokens before them"},
    {"num-prompts", "32", "throughput: requests, all there at the start"},
    {"input-len", "128", "throughput: tokens of a prompt"},
    {"output-len", "64", "throughput: tokens of an answer"},
    {"help", "", "!this text"},
};

/// What one token costs: weights that are read, products that are formed.
struct token_cost {
  double weight_bytes = 0;
  double layer_products = 0;
  double head_products = 0;
};

result<token_cost> cost_of(const std::string& model, const engine_settings& settings) {
  const auto source = open_checkpoint(model);
  if (!source) return fail(source.error());
  const auto home = open_cpu_device(settings);
  if (!home) return fail(home.error());
  const auto facts = facts_of(*source, **home, settings);
  if (!facts) return fail(facts.error());
  token_cost cost;
  for (const auto& [module, m] : source->matrices) {
    const auto type = packed_type(m, facts->quantization);
    cost.weight_bytes += static_cast<double>((*home)->operations().packed_bytes(m.extent, type));
    const double products = static_cast<double>(m.extent.out) * static_cast<double>(m.extent.in);
    (module == "lm_head" ? cost.head_products : cost.layer_products) += products;
  }
  return cost;
}

/// Tokens of a prompt and of its answer.
struct request_shape {
  std::uint32_t prompt = 1;
  std::uint32_t answer = 1;
};

/// So many sequences of so many tokens.
struct decode_case {
  std::uint32_t batch = 1;
  std::uint32_t context = 1;

  /// Tokens that each may answer: those measured, and those that the first ones bring while the
  /// prompts of the others are computed, in chunks of 64 tokens or more.
  std::uint32_t answer(std::uint32_t runs) const { return runs + 8 + batch * (context / 64 + 2); }
};

/// An engine and what it is asked to do.
class engine_bench {
 public:
  explicit engine_bench(offline_engine& engine) : engine_{engine} {}

  /// A prompt that no other one begins like.
  result<sequence_id> submit(const request_shape& shape) {
    std::vector<token_id> prompt(shape.prompt);
    ++prompts_;
    for (std::uint32_t i = 0; i < shape.prompt; ++i)
      prompt[i] = static_cast<token_id>(uniform_draw({.seed = prompts_, .position = i}) *
                                        static_cast<double>(engine_.vocab_size()));
    const auto taken = engine_.submit(std::move(prompt), {.seed = prompts_,
                                                          .max_tokens = shape.answer,
                                                          .min_tokens = shape.answer,
                                                          .ignore_eos = true});
    if (!taken) return fail(taken.error());
    return taken->front();
  }

  /// Steps until every sequence has at least `tokens` tokens.
  void run_until(const std::vector<sequence_id>& ids, std::size_t tokens) {
    const auto waits = [&](sequence_id id) { return engine_.output(id).tokens.size() < tokens; };
    while (std::ranges::any_of(ids, waits) && engine_.step()) {
    }
  }

  /// Seconds of a prompt of so many tokens until its first token.
  result<double> prefill(std::uint32_t tokens, const bench_clock& clock) {
    const auto id = submit({tokens, 1});
    if (!id) return fail(id.error());
    return clock.seconds_of([&] { run_until({*id}, 1); });
  }

  /// Seconds of a step that decodes one token of each sequence: the median of `runs`.
  result<double> decode(const decode_case& which, const measuring& how) {
    std::vector<sequence_id> ids;
    for (std::uint32_t i = 0; i < which.batch; ++i) {
      const auto id = submit({which.context, which.answer(static_cast<std::uint32_t>(how.runs))});
      if (!id) return fail(id.error());
      ids.push_back(*id);
    }
    run_until(ids, 2);  // all prompts are computed, and one step is over
    std::vector<double> seconds;
    for (int run = 0; run < how.runs; ++run)
      seconds.push_back(how.clock.seconds_of([&] { engine_.step(); }));
    for (const auto id : ids) engine_.cancel(id);
    engine_.run();
    return median(seconds);
  }

 private:
  offline_engine& engine_;
  std::uint64_t prompts_ = 0;
};

/// The command line as settings, the model's name aside.
result<engine_settings> settings_of(const command_line& line) {
  const auto threads = line.number("threads");
  const auto sequences = line.number("max-num-seqs");
  if (!threads) return fail(threads.error());
  if (!sequences) return fail(sequences.error());
  if (line.plain().size() != 1) return fail(bad_value("model", "one checkpoint folder is named"));
  engine_settings settings;
  settings.max_num_seqs = *sequences;
  settings.threads = *threads;
  settings.quantization = line.text("quantization");
  settings.kv_cache_dtype = line.text("kv-cache-dtype");
  settings.dtype = line.text("dtype");
  settings.prefix_caching = false;
  return settings;
}

/// What the lines about a model are made of.
struct model_lines {
  engine_bench& bench;
  report& out;
  token_cost cost;
  roofline roof;
  measuring how;

  result<void> prefill(std::uint32_t tokens) {
    std::vector<double> seconds;
    for (int run = 0; run < how.runs; ++run) {
      const auto took = bench.prefill(tokens, how.clock);
      if (!took) return fail(took.error());
      seconds.push_back(*took);
    }
    const double flops = 2 * (cost.layer_products * tokens + cost.head_products);
    const double took = median(seconds);
    out.row(fmt::format("prefill {}", tokens),
            {{"ms", took * 1e3},
             {"tokens_per_s", tokens / took},
             {"gflops", flops / took * 1e-9},
             {"of_arithmetic", flops / took / roof.flops_per_second}});
    return {};
  }

  /// `first_rate`: tokens a second of the first batch, 0 for that one itself.
  result<double> decode(const decode_case& which, double first_rate) {
    const auto took = bench.decode(which, how);
    if (!took) return fail(took.error());
    const double rate = which.batch / *took;
    const double flops = 2.0 * which.batch * (cost.layer_products + cost.head_products);
    out.row(fmt::format("decode, batch {}, context {}", which.batch, which.context),
            {{"step_ms", *took * 1e3},
             {"tokens_per_s", rate},
             {"times_first", first_rate > 0 ? rate / first_rate : 1},
             {"weight_gb_per_s", cost.weight_bytes / *took * 1e-9},
             {"of_bandwidth", cost.weight_bytes / *took / roof.bytes_per_second},
             {"of_arithmetic", flops / *took / roof.flops_per_second}});
    return rate;
  }
};

struct model_plan {
  measuring how;
  std::vector<std::uint32_t> prefill;
  std::vector<std::uint32_t> batches;
  std::vector<std::uint32_t> contexts;
};

result<model_plan> model_plan_of(const command_line& line) {
  const auto how = measuring_of(line);
  const auto prefill = line.numbers("prefill");
  const auto batches = line.numbers("batch");
  const auto contexts = line.numbers("context");
  if (!how) return fail(how.error());
  for (const auto* list : {&prefill, &batches, &contexts})
    if (!*list) return fail(list->error());
  model_plan plan{*how, *prefill, *batches, *contexts};
  const auto least = [](const auto& list) { return std::ranges::min(list); };
  if (least(plan.prefill) == 0 || least(plan.batches) == 0 || least(plan.contexts) == 0)
    return fail(bad_value("flags", "lengths and batches are at least 1"));
  return plan;
}

result<void> measure_model(const command_line& line, report& out) {
  auto settings = settings_of(line);
  const auto plan = model_plan_of(line);
  if (!settings) return fail(settings.error());
  if (!plan) return fail(plan.error());
  const decode_case largest{std::ranges::max(plan->batches), std::ranges::max(plan->contexts)};
  settings->max_model_len =
      std::max(std::ranges::max(plan->prefill) + 1,
               largest.context + largest.answer(static_cast<std::uint32_t>(plan->how.runs)));
  settings->max_num_seqs = std::max(settings->max_num_seqs, largest.batch);
  const auto cost = cost_of(line.plain()[0], *settings);
  if (!cost) return fail(cost.error());
  const auto home = open_cpu_device(*settings);
  if (!home) return fail(home.error());
  const auto roof = measure_roofline(**home, plan->how);
  out.row("measured: " + (*home)->info().name, roof.figures());

  auto engine = offline_engine::load(line.plain()[0], *settings);
  if (!engine) return fail(engine.error());
  engine_bench bench{**engine};
  model_lines lines{bench, out, *cost, roof, plan->how};
  for (const auto tokens : plan->prefill)
    if (const auto done = lines.prefill(tokens); !done) return done;
  for (const auto context : plan->contexts) {
    double first_rate = 0;
    for (const auto batch : plan->batches) {
      const auto rate = lines.decode({batch, context}, first_rate);
      if (!rate) return fail(rate.error());
      if (first_rate == 0) first_rate = *rate;
    }
  }
  return {};
}

result<void> measure_throughput(const command_line& line, report& out) {
  auto settings = settings_of(line);
  const auto count = line.number("num-prompts");
  const auto input = line.number("input-len");
  const auto output = line.number("output-len");
  if (!settings) return fail(settings.error());
  for (const auto* n : {&count, &input, &output}) {
    if (!*n) return fail(n->error());
    if (**n == 0) return fail(bad_value("flags", "lengths and counts are at least 1"));
  }
  settings->max_model_len = *input + *output;
  auto engine = offline_engine::load(line.plain()[0], *settings);
  if (!engine) return fail(engine.error());
  engine_bench bench{**engine};
  std::vector<sequence_id> ids;
  const auto begin = wall::now();
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto id = bench.submit({*input, *output});
    if (!id) return fail(id.error());
    ids.push_back(*id);
  }
  {
    progress_bar bar{ids.size()};
    do {
      bar.show(static_cast<std::size_t>(std::ranges::count_if(
          ids, [&](sequence_id id) { return (*engine)->output(id).finished.has_value(); })));
    } while ((*engine)->step());
  }
  const double took = seconds_since(begin);
  const double answers = static_cast<double>(*count) * *output;
  out.row(fmt::format("{} prompts of {}, answers of {}", *count, *input, *output),
          {{"seconds", took},
           {"requests_per_s", *count / took},
           {"output_tokens_per_s", answers / took},
           {"total_tokens_per_s", (answers + static_cast<double>(*count) * *input) / took}});
  return {};
}

int run(std::string_view name, words arguments,
        result<void> (*measure)(const command_line&, report&)) {
  const auto refuse = [&](const error& why) {
    fmt::print(stderr, "glimmer-bench {}: {}\n", name, why.text);
    return 2;
  };
  const auto line = command_line::parse(arguments, flags);
  if (!line) return refuse(line.error());
  if (line->is_set("help")) {
    fmt::print("glimmer-bench {} MODEL_FOLDER [flags]\n{}", name, flags_help(flags));
    return 0;
  }
  report out{line->is_set("json") ? report::form::json : report::form::table, name};
  if (const auto done = measure(*line, out); !done) return refuse(done.error());
  return 0;
}

}  // namespace

int run_model(words arguments) {
  return run("model", arguments, measure_model);
}

int run_throughput(words arguments) {
  return run("throughput", arguments, measure_throughput);
}

}  // namespace glimmer
