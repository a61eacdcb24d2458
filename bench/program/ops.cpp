#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/random.hpp"
#include "bench/program/command_line.hpp"
#include "bench/program/commands.hpp"
#include "bench/program/report.hpp"
#include "bench/program/roofline.hpp"
#include "bench/program/stage.hpp"
#include "engine/load.hpp"
#include "executor/sampler.hpp"

namespace glimmer {
namespace {

constexpr known_flag flags[] = {
    {"json", "", "!one JSON object a line"},
    {"threads", "0", "threads that compute; 0 = one per core"},
    {"runs", "5", "runs of which the median is told"},
    {"clock", "wall", "wall, or cpu: the process's own time a thread, for busy machines"},
    {"rows", "1,8,16,64,512", "rows of the matrix products"},
    {"context", "32768", "keys of the attention"},
    {"width", "6656", "hidden width; the wide side of a product is three times that"},
    {"help", "", "!this text"},
};

struct bench_plan {
  measuring how;
  std::vector<std::uint32_t> rows;
  std::int64_t context = 0;
  std::int64_t width = 0;
};

class ops_bench {
 public:
  ops_bench(bench_stage& stage, report& out, const roofline& roof, bench_plan plan)
      : stage_{stage}, out_{out}, roof_{roof}, plan_{std::move(plan)} {}

  void run() {
    for (const auto type : {dtype::bf16, dtype::f8_e4m3, dtype::f4_pair, dtype::i8, dtype::i4_pair})
      products(type);
    attention("attention, one row", 1, dtype::bf16);
    attention("attention, one row, fp8 keys", 1, dtype::f8_e4m3);
    attention("attention, 64 rows", 64, dtype::bf16);
    rows();
    sampling();
  }

 private:
  /// A line: milliseconds, and what part of the bandwidth and of the arithmetic that is.
  void tell(const std::string& subject, double seconds, const roofline::work& w) {
    out_.row(subject, {{"ms", seconds * 1e3},
                       {"gb_per_s", w.bytes / seconds * 1e-9},
                       {"of_bandwidth", w.bytes / seconds / roof_.bytes_per_second},
                       {"gflops", w.flops / seconds * 1e-9},
                       {"of_arithmetic", w.flops / seconds / roof_.flops_per_second}});
  }

  void products(dtype type) {
    const matrix_extent extent{.out = 3 * plan_.width, .in = plan_.width};
    const auto w = stage_.make_matrix(extent, type);
    for (const std::int64_t rows : plan_.rows) {
      const auto x = stage_.make_random({rows, extent.in}, dtype::bf16);
      const auto y = stage_.make({rows, extent.out}, dtype::bf16);
      const double seconds =
          stage_.seconds(plan_.how, [&] { stage_.op().matmul(stage_.stream(), y, x, w); });
      const double products = static_cast<double>(rows) * static_cast<double>(extent.out) *
                              static_cast<double>(extent.in);
      tell(fmt::format("matmul {}, {} rows", to_string(type), rows), seconds,
           {.bytes = static_cast<double>(w.storage.bytes()), .flops = 2 * products});
    }
    stage_.clear();
  }

  /// The head shape of the 30B over a scattered cache.
  void attention(const std::string& subject, std::int64_t rows, dtype type) {
    const attention_shape shape{.query_heads = 32,
                                .kv_heads = 2,
                                .head_dim = 128,
                                .block_size = 16,
                                .window = 0,
                                .scale = 0.0883883f};
    const std::int64_t blocks = (plan_.context + shape.block_size - 1) / shape.block_size;
    const tensor_shape form{blocks, shape.kv_heads, shape.block_size, shape.head_dim};
    const kv_cache cache{.keys = stage_.make_random(form, type),
                         .values = stage_.make_random(form, type)};
    std::vector<std::int32_t> table(static_cast<std::size_t>(blocks));
    std::iota(table.rbegin(), table.rend(), 0);
    const attention_layout layout{
        .row_begin = stage_.make_ids({0, static_cast<std::int32_t>(rows)}, {2}),
        .first_position = stage_.make_ids({static_cast<std::int32_t>(plan_.context - rows)}, {1}),
        .block_table = stage_.make_ids(table, {1, blocks}),
        .first_block = stage_.make_ids({0}, {1}),
        .rows_max = rows,
        .position_max = plan_.context - 1};
    const tensor q = stage_.make_random({rows, shape.query_heads * shape.head_dim}, dtype::bf16);
    const tensor out = stage_.make(q.shape, dtype::bf16);
    const double seconds = stage_.seconds(
        plan_.how, [&] { stage_.op().attention(stage_.stream(), out, q, cache, layout, shape); });
    const double keys =
        static_cast<double>(rows) *
        (2.0 * static_cast<double>(plan_.context - rows) + static_cast<double>(rows) + 1) / 2;
    tell(subject, seconds,
         {.bytes = static_cast<double>(2 * cache.keys.bytes()),
          .flops = keys * static_cast<double>(shape.query_heads * shape.head_dim) * 4});
    stage_.clear();
  }

  /// Ops of one pass over rows, on more rows than a cache holds. Flops are not counted: memory
  /// binds them all.
  void rows() {
    constexpr std::int64_t count = 4096;
    const tensor_shape form{count, plan_.width};
    const auto x = stage_.make_random(form, dtype::bf16);
    const auto y = stage_.make_random(form, dtype::bf16);
    const auto w = stage_.make_random({plan_.width}, dtype::f32);
    const auto z = stage_.make_random(form, dtype::f32);
    const auto s = stage_.stream();
    auto& op = stage_.op();
    const auto one = [&](const char* subject, std::size_t bytes, const auto& queue) {
      tell(subject, stage_.seconds(plan_.how, queue), {.bytes = static_cast<double>(bytes)});
    };
    one("rms_norm", x.bytes() + y.bytes(),
        [&] { op.rms_norm(s, y, x, w, norm_kind::centred, 1e-5f); });
    one("add", 3 * x.bytes(), [&] { op.add(s, x, y); });
    one("sigmoid_gate", 3 * x.bytes(), [&] { op.sigmoid_gate(s, x, y); });
    one("silu_product", 3 * x.bytes(), [&] { op.silu_product(s, x, y); });
    one("cap_logits", 2 * z.bytes(), [&] { op.cap_logits(s, z, {.multiplier = 1, .cap = 20}); });
    stage_.clear();
  }

  /// Drawing one token of the released vocabulary, on one thread.
  void sampling() {
    std::vector<float> row(202'048);
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double u = uniform_draw({.seed = 1, .position = i});
      row[i] = static_cast<float>(std::log(u / (1 - u)));
      if (i % 20'011 == 0) row[i] += 12;
    }
    sampler draws;
    std::uint64_t index = 0;
    const std::pair<const char*, sampling_params> cases[] = {
        {"sampling, greedy", {.temperature = 0}},
        {"sampling, temperature", {}},
        {"sampling, top_p 0.95", {.top_p = 0.95f}},
        {"sampling, min_p 0.05", {.min_p = 0.05f}},
        {"sampling, top_k 64, top_p 0.95", {.top_p = 0.95f, .top_k = 64}},
    };
    const auto bytes = static_cast<double>(row.size() * sizeof(float));
    auto how = plan_.how;
    how.clock.threads = 1;
    for (const auto& [subject, params] : cases)
      tell(subject, how.median_seconds([&] { draws.draw(row, params, index++); }),
           {.bytes = bytes});
    tell("sampling, 20 logprobs", how.median_seconds([&] { draws.logprob_of(row, 7, 20); }),
         {.bytes = bytes});
  }

  bench_stage& stage_;
  report& out_;
  roofline roof_;
  bench_plan plan_;
};

result<bench_plan> plan_of(const command_line& line) {
  const auto how = measuring_of(line);
  const auto rows = line.numbers("rows");
  const auto context = line.number("context");
  const auto width = line.number("width");
  if (!how) return fail(how.error());
  for (const auto* n : {&context, &width})
    if (!*n) return fail(n->error());
  if (!rows) return fail(rows.error());
  if (*context < 64 || *width < 128 || *width % 64 != 0)
    return fail(bad_value("flags",
                          "--context is at least 64, and --width a "
                          "multiple of 64 from 128 on"));
  return bench_plan{*how, *rows, *context, *width};
}

}  // namespace

int run_ops(words arguments) {
  const auto refuse = [](const error& why) {
    fmt::print(stderr, "glimmer-bench ops: {}\n", why.text);
    return 2;
  };
  const auto line = command_line::parse(arguments, flags);
  if (!line) return refuse(line.error());
  if (line->is_set("help")) return fmt::print("{}", flags_help(flags)), 0;
  auto plan = plan_of(*line);
  if (!plan) return refuse(plan.error());
  auto home = open_cpu_device({.threads = plan->how.clock.threads});
  if (!home) return refuse(home.error());

  bench_stage stage{std::move(*home)};
  report out{line->is_set("json") ? report::form::json : report::form::table, "ops"};
  const auto roof = measure_roofline(stage.home(), plan->how);
  out.row("measured: " + stage.home().info().name, roof.figures());
  ops_bench{stage, out, roof, std::move(*plan)}.run();
  return 0;
}

}  // namespace glimmer
