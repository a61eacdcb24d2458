#include "glimmer/option_table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/json.hpp"
#include "glimmer/speculative_config.hpp"

namespace glimmer {
namespace {

using values = std::span<const std::string>;
using row = option_row;
using arity = option_row::arity;

std::unexpected<error> refuse(std::string text) {
  return fail({error_kind::bad_request, "invalid_option", "", std::move(text)});
}

struct range {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
};

/// "4096", "32k" (thousands) or "32K" (of 1024), as vLLM reads them; also m/M and g/G.
result<std::uint64_t> whole_number(const std::string& text, range allowed) {
  std::uint64_t number = 0;
  const auto* end = text.data() + text.size();
  auto [rest, code] = std::from_chars(text.data(), end, number);
  std::uint64_t unit = 1;
  if (code == std::errc{} && rest + 1 == end) {
    switch (*rest++) {
      case 'k': unit = 1'000; break;
      case 'K': unit = 1 << 10; break;
      case 'm': unit = 1'000'000; break;
      case 'M': unit = 1 << 20; break;
      case 'g': unit = 1'000'000'000; break;
      case 'G': unit = 1 << 30; break;
      default: code = std::errc::invalid_argument;
    }
  }
  const bool fits = number <= allowed.most / unit;
  if (code != std::errc{} || rest != end || !fits || number * unit < allowed.least) {
    return refuse(
        fmt::format("'{}' is not a whole number from {} to {}", text, allowed.least, allowed.most));
  }
  return number * unit;
}

template <auto Member, std::uint64_t Least, std::uint64_t Most>
result<void> number(server_options& options, values v) {
  const auto n = whole_number(v[0], {Least, Most});
  if (!n) return fail(n.error());
  options.*Member = static_cast<std::remove_reference_t<decltype(options.*Member)>>(*n);
  return {};
}

template <auto Member, std::uint64_t Least, std::uint64_t Most>
result<void> limit(server_options& options, values v) {
  const auto n = whole_number(v[0], {Least, Most});
  if (!n) return fail(n.error());
  options.limits.*Member =
      static_cast<std::remove_reference_t<decltype(options.limits.*Member)>>(*n);
  return {};
}

template <auto Member, std::uint64_t Least, std::uint64_t Most>
result<void> setting(server_options& options, values v) {
  const auto n = whole_number(v[0], {Least, Most});
  if (!n) return fail(n.error());
  options.engine.*Member =
      static_cast<std::remove_reference_t<decltype(options.engine.*Member)>>(*n);
  return {};
}

template <auto Member>
result<void> text(server_options& options, values v) {
  options.*Member = v[0];
  return {};
}

/// An empty key would let everybody in, an empty name stands for no model.
template <auto Member>
result<void> list(server_options& options, values v) {
  if (std::ranges::find(v, "") != v.end()) return refuse("an empty value is not allowed");
  (options.*Member).assign(v.begin(), v.end());
  return {};
}

template <auto Member, bool Value = true>
result<void> on(server_options& options, values) {
  options.*Member = Value;
  return {};
}

result<void> model_name(server_options& options, values v) {
  if (v[0].empty()) return refuse("'' is neither a folder nor a hub id");
  options.model = v[0];
  return {};
}

template <auto Member, bool Value>
result<void> flag(server_options& options, values) {
  options.engine.*Member = Value;
  return {};
}

/// Already so, and cannot be otherwise.
result<void> always(server_options&, values) {
  return {};
}

result<void> memory_utilization(server_options& options, values v) {
  double share = 0;
  const auto* end = v[0].data() + v[0].size();
  const auto [rest, code] = std::from_chars(v[0].data(), end, share);
  if (code != std::errc{} || rest != end || !(share > 0 && share <= 1)) {
    return refuse(fmt::format("'{}' is not a share above 0 and up to 1", v[0]));
  }
  options.engine.memory_utilization = share;
  return {};
}

result<void> parser_name(server_options&, values v) {
  if (v[0] == "muse_glimmer") return {};
  return refuse(fmt::format("'{}' is not known; the only parser is muse_glimmer", v[0]));
}

result<void> dtype_name(server_options& options, values v) {
  for (const auto* known : {"auto", "bfloat16", "float32"}) {
    if (v[0] == known) {
      options.engine.dtype = v[0];
      return {};
    }
  }
  return refuse(fmt::format("'{}' is not known; auto, bfloat16 and float32 are", v[0]));
}

/// "3" or "0-3".
result<range> cpu_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = whole_number(std::string{text.substr(0, dash)}, {0, 4095});
  if (!first) return fail(first.error());
  const bool one = dash == text.npos;
  const auto last = one ? first : whole_number(std::string{text.substr(dash + 1)}, {*first, 4095});
  if (!last) return fail(last.error());
  return range{*first, *last};
}

/// "0-3,8"
result<void> cpu_list(server_options& options, values v) {
  std::vector<std::uint32_t> cpus;
  for (std::size_t at = 0; at <= v[0].size();) {
    const auto comma = std::min(v[0].find(',', at), v[0].size());
    const auto part = cpu_range(std::string_view{v[0]}.substr(at, comma - at));
    if (!part) return fail(part.error());
    for (auto cpu = part->least; cpu <= part->most; ++cpu) {
      if (std::ranges::find(cpus, cpu) != cpus.end())
        return refuse(fmt::format("processor {} is named twice", cpu));
      cpus.push_back(static_cast<std::uint32_t>(cpu));
    }
    at = comma + 1;
  }
  options.engine.cpus = std::move(cpus);
  return {};
}

/// The names of stored formats are allowed where the checkpoint has them, for whoever is used to
/// give them.
result<void> quantization_name(server_options& options, values v) {
  for (const auto* known : {"int8", "int4", "compressed-tensors", "fp8", "modelopt"}) {
    if (v[0] == known) {
      options.engine.quantization = v[0];
      return {};
    }
  }
  return refuse(fmt::format(
      "'{}' is not known; int8 and int4 quantise at load, a stored format is found by itself",
      v[0]));
}

result<void> log_level(server_options& options, values v) {
  for (const auto* known : {"debug", "info", "warning", "error"}) {
    if (v[0] == known) {
      options.log_level = v[0];
      return {};
    }
  }
  return refuse(fmt::format("'{}' is not known; debug, info, warning and error are", v[0]));
}

result<void> tensor_parallel(server_options& options, values v) {
  const auto n = whole_number(v[0], {1, 1024});
  if (!n) return fail(n.error());
  if (*n > 1) {
    options.notes.push_back(fmt::format(
        "--tensor-parallel-size {}: the CPU is one device and runs the whole model", *n));
  }
  return {};
}

result<void> request_seconds(server_options& options, values v) {
  const auto n = whole_number(v[0], {0, 1'000'000});
  if (!n) return fail(n.error());
  options.limits.request_timeout_ms = static_cast<std::uint32_t>(*n * 1000);
  return {};
}

result<void> media_limit(server_options&, values v) {
  const auto given = json::parse(v[0]);
  if (!given || !given->is_object()) {
    return refuse(fmt::format("'{}' is not a JSON object such as {{\"image\": 4}}", v[0]));
  }
  return {};
}

result<void> kv_dtype(server_options& options, values v) {
  for (const auto* known : {"auto", "bfloat16", "fp8", "fp8_e4m3"}) {
    if (v[0] == known) {
      options.engine.kv_cache_dtype = v[0];
      return {};
    }
  }
  return refuse(fmt::format("'{}' is not known; auto, bfloat16, fp8 and fp8_e4m3 are", v[0]));
}

result<void> attention_backend(server_options& options, values v) {
  options.notes.push_back(
      fmt::format("--attention-backend {}: has no effect, the CPU has one attention", v[0]));
  return {};
}

result<void> executor_kind(server_options& options, values v) {
  constexpr std::string_view prefix = "script:";
  if (v[0] == "device") return {};
  if (v[0].starts_with(prefix) && v[0].size() > prefix.size()) {
    options.script = v[0].substr(prefix.size());
    return {};
  }
  return refuse(fmt::format("'{}' is not known; device and script:FILE are", v[0]));
}

result<void> speculative_config(server_options& options, values v) {
  auto given = parse_speculative_config(v[0]);
  if (!given) return fail(given.error());
  options.engine.drafter = std::move(*given);
  return {};
}

result<void> drafter_model(server_options& options, values v) {
  if (v[0].empty()) return refuse("'' is neither a folder nor a hub id");
  options.engine.drafter.model = v[0];
  return {};
}

template <auto Member, std::uint64_t Least, std::uint64_t Most>
result<void> drafter(server_options& options, values v) {
  const auto n = whole_number(v[0], {Least, Most});
  if (!n) return fail(n.error());
  options.engine.drafter.*Member = static_cast<std::uint32_t>(*n);
  return {};
}

template <bool Value>
result<void> drafter_flag(server_options& options, values) {
  options.engine.drafter.adaptive = Value;
  return {};
}

result<void> acceptance_floor(server_options& options, values v) {
  double floor = 0;
  const auto* end = v[0].data() + v[0].size();
  const auto [rest, code] = std::from_chars(v[0].data(), end, floor);
  if (code != std::errc{} || rest != end || !(floor >= 1 && floor <= 16)) {
    return refuse(fmt::format("'{}' is not a number from 1 to 16", v[0]));
  }
  options.engine.drafter.acceptance_floor = floor;
  return {};
}

result<void> only_one(server_options&, values v) {
  if (v[0] == "1") return {};
  return refuse(fmt::format("'{}' is not supported; 1 is", v[0]));
}

template <const char* Why>
result<void> absent(server_options&, values) {
  return refuse(Why);
}

constexpr char no_template[] = "templates are not read; the model's own prompt format is built in";
constexpr char no_lora[] = "adapters are not supported";
constexpr char no_tls[] = "TLS is not supported yet; put a proxy in front";
constexpr char always_chunked[] = "prefill is always chunked";

constexpr bool live = true;
using so = server_options;
constexpr std::uint64_t million = 1'000'000;

constexpr auto rows = std::to_array<row>({
    // server
    {"model", "server", arity::one, "folder or cached hub id (or the first plain argument)",
     model_name},
    {"host", "server", arity::one, "address to listen on", text<&so::host>},
    {"port", "server", arity::one, "port to listen on; 0 picks a free one",
     number<&so::port, 0, 65535>},
    {"served-model-name", "server", arity::many, "names clients may use; the first is answered",
     list<&so::served_model_names>},
    {"api-key", "server", arity::many, "keys of which clients must send one", list<&so::api_keys>,
     live},
    {"generation-config", "server", arity::one, "auto, vllm (neutral sampling) or a folder",
     text<&so::generation_config>},
    {"seed", "server", arity::one, "seed of requests that bring none",
     number<&so::seed, 0, UINT64_MAX>},
    {"half-close-ok", "server", arity::none, "answer clients that have ended their direction",
     on<&so::half_close_ok>},
    {"no-half-close-ok", "server", arity::none, "take them for gone; default",
     on<&so::half_close_ok, false>},
    {"drain-timeout", "server", arity::one, "seconds that open requests get after SIGTERM",
     number<&so::drain_seconds, 0, 86'400>, live},
    {"watchdog-seconds", "server", arity::one, "work without a step for so long: unhealthy",
     number<&so::watchdog_seconds, 1, 86'400>, live},
    {"log-level", "server", arity::one, "debug, info, warning or error", log_level, live},
    {"tool-call-parser", "server", arity::one, "muse_glimmer, always on", parser_name},
    {"reasoning-parser", "server", arity::one, "muse_glimmer, always on", parser_name},
    {"enable-auto-tool-choice", "server", arity::none, "always on", always},
    {"enable-prompt-tokens-details", "server", arity::none, "always on", always},
    {"disable-log-requests", "server", arity::none, "prompts are never logged", always},
    {"no-enable-log-requests", "server", arity::none, "prompts are never logged", always},
    {"disable-log-stats", "server", arity::none, "statistics are never logged", always},
    {"trust-remote-code", "server", arity::none, "nothing remote is ever run", always},
    {"chat-template", "server", arity::one, "refused: the format is built in", absent<no_template>},
    {"ssl-keyfile", "server", arity::one, "refused for now", absent<no_tls>},
    {"ssl-certfile", "server", arity::one, "refused for now", absent<no_tls>},

    // actors
    {"api-server-count", "actors", arity::one, "frontends", number<&so::frontends, 1, 64>},
    {"tokenizer-count", "actors", arity::one, "tokenizers", number<&so::tokenizers, 1, 64>},
    {"parser-count", "actors", arity::one, "parsers", number<&so::parsers, 1, 64>},

    // engine
    {"max-model-len", "engine", arity::one, "tokens of prompt and answer together",
     setting<&engine_settings::max_model_len, 1, 16 * million>},
    {"max-num-seqs", "engine", arity::one, "sequences computed at a time",
     setting<&engine_settings::max_num_seqs, 1, 65'536>},
    {"max-num-batched-tokens", "engine", arity::one, "tokens computed in one step",
     setting<&engine_settings::max_num_batched_tokens, 1, million>},
    {"block-size", "engine", arity::one, "tokens a KV block holds, a power of two",
     setting<&engine_settings::block_size, 1, 256>},
    {"gpu-memory-utilization", "engine", arity::one, "share of the device's memory to use",
     memory_utilization},
    {"kv-cache-memory", "engine", arity::one, "bytes of KV cache, instead of what is left",
     setting<&engine_settings::kv_cache_bytes, 1, UINT64_MAX>},
    {"kv-cache-dtype", "engine", arity::one, "auto (as dtype), bfloat16 or fp8 (half the memory)",
     kv_dtype},
    {"dtype", "engine", arity::one, "auto, bfloat16 or float32", dtype_name},
    {"cpu-threads", "engine", arity::one, "threads that compute; 0 = one per core",
     setting<&engine_settings::threads, 0, 1024>},
    {"cpu-affinity", "engine", arity::one, "processors to pin them to, as in 0-3,8", cpu_list},
    {"tensor-parallel-size", "engine", arity::one, "devices per replica", tensor_parallel},
    {"pipeline-parallel-size", "engine", arity::one, "1", only_one},
    {"data-parallel-size", "engine", arity::one, "1", only_one},
    {"executor", "engine", arity::one, "device, or script:FILE to play turns for tests",
     executor_kind},
    {"attention-backend", "engine", arity::one, "no effect on the CPU", attention_backend},
    {"enable-chunked-prefill", "engine", arity::none, "always on", always},
    {"no-enable-chunked-prefill", "engine", arity::none, "refused", absent<always_chunked>},
    {"enable-prefix-caching", "engine", arity::none, "reuse KV of equal prompt beginnings; default",
     flag<&engine_settings::prefix_caching, true>},
    {"no-enable-prefix-caching", "engine", arity::none, "compute every prompt anew",
     flag<&engine_settings::prefix_caching, false>},
    {"limit-mm-per-prompt", "engine", arity::one, "JSON; images are refused for now", media_limit},
    {"quantization", "engine", arity::one, "int8 or int4: quantise plain weights at load",
     quantization_name},
    {"enable-lora", "engine", arity::none, "refused", absent<no_lora>},

    // drafter
    {"speculative-config", "drafter", arity::one,
     "JSON: method (dflash), model, num_speculative_tokens", speculative_config},
    {"drafter-model", "drafter", arity::one, "the draft head's folder or hub id, instead",
     drafter_model},
    {"num-speculative-tokens", "drafter", arity::one, "drafted per sequence and step; 0: none",
     drafter<&drafter_settings::tokens_max, 0, 1'000>},
    {"adaptive-drafting", "drafter", arity::none, "draft less where it does not pay; default",
     drafter_flag<true>},
    {"no-adaptive-drafting", "drafter", arity::none, "always draft as much as there is room for",
     drafter_flag<false>},
    {"acceptance-floor", "drafter", arity::one, "tokens per block of drafts; below, the log warns",
     acceptance_floor},

    // limits
    {"max-connections", "limits", arity::one, "sockets of one frontend",
     limit<&limits::connections, 1, million>},
    {"max-body-bytes", "limits", arity::one, "one request body",
     limit<&limits::http_body_bytes, 1024, std::uint64_t{1} << 32>, live},
    {"request-timeout", "limits", arity::one, "seconds from a request's header to its last byte",
     request_seconds, live},
    {"max-num-queued-reqs", "limits", arity::one, "requests in flight",
     limit<&limits::requests_in_flight, 1, million>, live},
    {"max-num-queued-tokens", "limits", arity::one, "prompt tokens admitted, not yet computed",
     limit<&limits::queued_tokens, 1, std::uint64_t{1} << 40>, live},
    {"max-answer-bytes", "limits", arity::one, "an answer in one piece, as estimated at its start",
     limit<&limits::answer_bytes, 1024, std::uint64_t{1} << 40>},
    {"header-timeout-ms", "limits", arity::one, "first byte to end of header",
     limit<&limits::header_timeout_ms, 1, 86'400'000>, live},
    {"body-timeout-ms", "limits", arity::one, "between two pieces of a body",
     limit<&limits::body_timeout_ms, 1, 86'400'000>, live},
    {"idle-timeout-ms", "limits", arity::one, "keep-alive without a request",
     limit<&limits::idle_timeout_ms, 1, 86'400'000>, live},
    {"parked-timeout-ms", "limits", arity::one, "a client that does not read",
     limit<&limits::parked_ms, 1, 86'400'000>, live},

    // command line only
    {"help", "", arity::none, "this text", on<&so::help>},
    {"version", "", arity::none, "the version", on<&so::version>},
});

}  // namespace

std::span<const option_row> option_table() {
  return rows;
}

}  // namespace glimmer
