#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "base/json.hpp"
#include "base/random.hpp"
#include "bench/program/command_line.hpp"
#include "bench/program/commands.hpp"
#include "bench/program/load_client.hpp"
#include "bench/program/report.hpp"
#include "bench/program/statistics.hpp"

namespace glimmer {
namespace {

constexpr known_flag flags[] = {
    {"json", "", "!one JSON object a line"},
    {"base-url", "http://127.0.0.1:8000", "the server"},
    {"model", "glimmer", "the model's name there"},
    {"api-key", "", "sent as a bearer token"},
    {"endpoint", "chat", "chat or completions"},
    {"num-prompts", "100", "requests"},
    {"concurrency", "16", "closed loop: in flight at a time"},
    {"request-rate", "0", "open loop: requests a second, Poisson; 0 = closed"},
    {"input-words", "100", "words of a prompt"},
    {"output-len", "64", "tokens of an answer at most"},
    {"ignore-eos", "", "!ask for exactly that many (a field that not every server knows)"},
    {"seed", "0", "of prompts and arrival times"},
    {"timeout", "600", "seconds of one request"},
    {"slo-ttft-ms", "0", "goodput: first token within; 0 = not asked"},
    {"slo-tpot-ms", "0", "goodput: milliseconds a token behind the first"},
    {"slo-e2e-ms", "0", "goodput: the whole answer within"},
    {"help", "", "!this text"},
};

/// Limits that a good answer keeps; 0 for none.
struct objective {
  double first_ms = 0;
  double token_ms = 0;
  double whole_ms = 0;

  bool met_by(const answer_record& a) const {
    const auto within = [](double seconds, double limit) {
      return limit == 0 || seconds * 1e3 <= limit;
    };
    return a.ok() && within(a.first_token(), first_ms) &&
           within(a.per_token().value_or(0), token_ms) && within(a.whole(), whole_ms);
  }
};

/// Words of random letters, so that prompts share no beginning.
std::string prompt_of(std::uint64_t seed, std::uint32_t words) {
  std::string out;
  std::uint64_t drawn = 0;
  const auto below = [&](double bound) {
    return static_cast<int>(uniform_draw({.seed = seed, .position = drawn++}) * bound);
  };
  for (std::uint32_t i = 0; i < words; ++i) {
    if (i > 0) out += ' ';
    for (int letters = 2 + below(6); letters > 0; --letters)
      out += static_cast<char>('a' + below(26));
  }
  return out;
}

struct body_plan {
  std::string model;
  bool chat = true;
  bool ignore_eos = false;
  std::uint32_t words = 0;
  std::uint32_t tokens = 0;
};

std::string body_of(const body_plan& plan, std::uint64_t seed) {
  std::string out;
  json_writer w{out};
  w.begin_object();
  w.key("model").string(plan.model);
  if (plan.chat) {
    w.key("messages").begin_array().begin_object();
    w.key("role").string("user");
    w.key("content").string(prompt_of(seed, plan.words));
    w.end_object().end_array();
  } else {
    w.key("prompt").string(prompt_of(seed, plan.words));
  }
  w.key("max_tokens").integer(plan.tokens);
  w.key("stream").boolean(true);
  w.key("stream_options").begin_object();
  w.key("include_usage").boolean(true);
  w.end_object();
  if (plan.ignore_eos) w.key("ignore_eos").boolean(true);
  w.end_object();
  return out;
}

/// The command line, read.
struct serve_plan {
  load_plan load;
  objective wanted;
};

result<serve_plan> plan_of(const command_line& line) {
  const auto server = server_address::parse(line.text("base-url"));
  if (!server) return fail(server.error());
  std::uint32_t count = 0, concurrency = 0, words = 0, tokens = 0, seed = 0;
  for (const auto& [flag, to] : {std::pair{"num-prompts", &count},
                                 {"concurrency", &concurrency},
                                 {"input-words", &words},
                                 {"output-len", &tokens},
                                 {"seed", &seed}}) {
    const auto n = line.number(flag);
    if (!n) return fail(n.error());
    *to = *n;
  }
  serve_plan plan;
  double rate = 0;
  for (const auto& [flag, to] : {std::pair{"request-rate", &rate},
                                 {"timeout", &plan.load.timeout_seconds},
                                 {"slo-ttft-ms", &plan.wanted.first_ms},
                                 {"slo-tpot-ms", &plan.wanted.token_ms},
                                 {"slo-e2e-ms", &plan.wanted.whole_ms}}) {
    const auto n = line.real(flag);
    if (!n) return fail(n.error());
    *to = *n;
  }
  const auto& endpoint = line.text("endpoint");
  if (endpoint != "chat" && endpoint != "completions")
    return fail(bad_value("endpoint", "--endpoint is chat or completions"));
  if (count == 0 || concurrency == 0 || words == 0 || tokens == 0)
    return fail(bad_value("flags", "counts and lengths are at least 1"));
  const body_plan body{.model = line.text("model"),
                       .chat = endpoint == "chat",
                       .ignore_eos = line.is_set("ignore-eos"),
                       .words = words,
                       .tokens = tokens};
  plan.load.server = *server;
  plan.load.path = body.chat ? "/v1/chat/completions" : "/v1/completions";
  plan.load.api_key = line.text("api-key");
  for (std::uint32_t i = 0; i < count; ++i)
    plan.load.bodies.push_back(body_of(body, (std::uint64_t{seed} << 32) + i));
  if (rate > 0) plan.load.arrivals = poisson_arrivals({rate, count, seed});
  plan.load.concurrency = rate > 0 ? count : concurrency;
  return plan;
}

void tell_times(report& out, const char* subject, const std::vector<double>& seconds) {
  double sum = 0;
  for (const double s : seconds) sum += s;
  const auto ms = [&](double share) { return 1e3 * percentile(seconds, share); };
  out.row(subject,
          {{"mean_ms", seconds.empty() ? 0 : 1e3 * sum / static_cast<double>(seconds.size())},
           {"p50_ms", ms(0.5)},
           {"p90_ms", ms(0.9)},
           {"p99_ms", ms(0.99)},
           {"max_ms", ms(1)}});
}

void tell(report& out, const load_outcome& load, const objective& wanted) {
  std::vector<double> first, gaps, per_token, whole;
  double good = 0, met = 0, tokens = 0;
  for (const auto& a : load.answers) {
    if (!a.ok()) continue;
    ++good;
    met += wanted.met_by(a) ? 1 : 0;
    tokens += static_cast<double>(a.tokens());
    first.push_back(a.first_token());
    whole.push_back(a.whole());
    if (const auto each = a.per_token()) per_token.push_back(*each);
    const auto between = a.gaps();
    gaps.insert(gaps.end(), between.begin(), between.end());
  }
  const double all = static_cast<double>(load.answers.size());
  out.row("requests", {{"answered", good},
                       {"failed", all - good},
                       {"seconds", load.seconds},
                       {"requests_per_s", good / load.seconds},
                       {"output_tokens_per_s", tokens / load.seconds},
                       {"goodput_per_s", met / load.seconds},
                       {"goodput_share", met / all}});
  tell_times(out, "TTFT: first token", first);
  tell_times(out, "ITL: between pieces", gaps);
  tell_times(out, "TPOT: a token behind the first", per_token);
  tell_times(out, "E2E: whole answer", whole);
}

}  // namespace

int run_serve(words arguments) {
  const auto refuse = [](const error& why) {
    fmt::print(stderr, "glimmer-bench serve: {}\n", why.text);
    return 2;
  };
  const auto line = command_line::parse(arguments, flags);
  if (!line) return refuse(line.error());
  if (line->is_set("help")) return fmt::print("{}", flags_help(flags)), 0;
  const auto plan = plan_of(*line);
  if (!plan) return refuse(plan.error());
  std::optional<progress_bar> bar{std::in_place, plan->load.bodies.size()};
  const auto load = play(
      plan->load, [](void* shown, std::size_t n) { static_cast<progress_bar*>(shown)->show(n); },
      &*bar);
  bar.reset();
  if (!load) return refuse(load.error());
  report out{line->is_set("json") ? report::form::json : report::form::table, "serve"};
  tell(out, *load, plan->wanted);
  const auto failed = std::ranges::find_if(load->answers, [](const auto& a) { return !a.ok(); });
  if (failed == load->answers.end()) return 0;
  fmt::print(stderr, "glimmer-bench serve: not every request was answered; the first of them: {}\n",
             failed->complaint().empty() ? "no whole answer came" : failed->complaint());
  return 1;
}

}  // namespace glimmer
