#include "engine/load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "engine/offline_engine.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "model/weights.hpp"

namespace glimmer {

namespace {

/// Matrices that are quantised already are served as they are, never quantised again.
result<load_quantization> quantization_of(const checkpoint& source,
                                          const engine_settings& settings) {
  const auto& wanted = settings.quantization;
  const auto& method = source.config.quantization.method();
  if (wanted.empty() || wanted == method) return load_quantization::none;
  if (method.empty() && wanted == "int8") return load_quantization::int8;
  if (method.empty() && wanted == "int4") return load_quantization::int4;
  return fail(
      bad_value("quantization", method.empty()
                                    ? "quantization is '" + wanted +
                                          "', but the weights are plain; allowed are int8 and int4."
                                    : "quantization is '" + wanted +
                                          "', but the weights are quantised already; allowed is " +
                                          method + ", which is found without the flag."));
}

result<void> check_cpus(const engine_settings& settings) {
  const auto there = available_cpus();
  for (const auto cpu : settings.cpus) {
    if (std::ranges::find(there, cpu) != there.end()) continue;
    return fail(bad_value(
        "cpu_affinity", fmt::format("cpu_affinity names processor {}; this process may run on {}.",
                                    cpu, fmt::join(there, ", "))));
  }
  if (settings.cpus.empty() || settings.threads <= settings.cpus.size()) return {};
  return fail(bad_value("cpu_threads",
                        fmt::format("cpu_threads is {}, but cpu_affinity names {} processors: "
                                    "threads would wait for one another.",
                                    settings.threads, settings.cpus.size())));
}

}  // namespace

result<std::unique_ptr<device>> open_cpu_device(const engine_settings& settings) {
  const char* const forced = std::getenv("GLIMMER_CPU_ISA");
  const auto set = instruction_set_named(forced != nullptr ? forced : "");
  if (!set) return fail(set.error());
  if (const auto fine = check_cpus(settings); !fine) return fail(fine.error());
  const auto threads =
      settings.threads != 0 ? settings.threads : static_cast<unsigned>(settings.cpus.size());
  return make_cpu_device({.threads = threads, .cpus = settings.cpus, .instructions = *set});
}

result<engine_facts> facts_of(const checkpoint& source, device& home,
                              const engine_settings& settings, const draft_checkpoint* head) {
  const auto quantization = quantization_of(source, settings);
  if (!quantization) return fail(quantization.error());
  const auto info = home.info();
  std::optional<draft_facts> draft;
  if (head) {
    draft = {.head = head->config, .weight_bytes = draft_weight_bytes(home, *head, *quantization)};
  }
  return engine_facts{.model = source.config.text,
                      .end_tokens = end_tokens(source.config, source.defaults),
                      .quantization = *quantization,
                      .weight_bytes = weight_bytes(home, source, *quantization),
                      .memory_bytes = info.memory_bytes,
                      .free_bytes = info.free_bytes,
                      .draft = std::move(draft)};
}

result<std::unique_ptr<executor>> load_executor(device& home, const checkpoint& source,
                                                const engine_config& config,
                                                const draft_checkpoint* head) {
  auto weights = load_weights(home, source, config.quantization);
  if (!weights) return fail(weights.error());
  const auto& model = source.config.text;
  auto text = decoder::make(home, model, std::move(*weights), config.activations);
  if (!text) return fail(text.error());
  auto caches = kv_caches::allocate(home, model, config.kv, config.kv_blocks);
  if (!caches) return fail(caches.error());
  const unsigned threads =
      config.threads > 0 ? config.threads : std::thread::hardware_concurrency();
  executor_options options{.end_tokens = config.scheduler.end_tokens, .sampling_threads = threads};
  if (head) {
    auto taps = feature_taps::allocate(home, head->config, config.activations);
    if (!taps) return fail(taps.error());
    options.taps = std::move(*taps);
  }
  return std::make_unique<executor>(home, std::move(*text), std::move(*caches), std::move(options));
}

result<std::unique_ptr<draft_runner>> load_draft_runner(executor& steps,
                                                        const draft_checkpoint& head,
                                                        const engine_config& config) {
  const auto ground = steps.ground();
  auto weights = load_draft_weights(*ground.home, head, config.quantization);
  if (!weights) return fail(weights.error());
  auto made = draft_head::make(*ground.home, head.config, std::move(*weights), *config.draft,
                               ground.vocab_size);
  if (!made) return fail(made.error());
  return std::make_unique<draft_runner>(steps, std::move(*made));
}

result<std::unique_ptr<offline_engine>> offline_engine::load(const std::filesystem::path& folder,
                                                             const engine_settings& settings) {
  const auto source = open_checkpoint(folder);
  if (!source) return fail(source.error());
  auto opened = open_cpu_device(settings);
  if (!opened) return fail(opened.error());
  auto home = std::move(*opened);
  std::optional<draft_checkpoint> head;
  if (settings.drafter.wanted()) {
    auto found = open_draft_checkpoint(settings.drafter.model, source->config.text);
    if (!found) return fail(found.error());
    head = std::move(*found);
  }
  const auto* wanted = head ? &*head : nullptr;
  const auto facts = facts_of(*source, *home, settings, wanted);
  if (!facts) return fail(facts.error());
  const auto config = derive_config(settings, *facts);
  if (!config) return fail(config.error());
  auto steps = load_executor(*home, *source, *config, wanted);
  if (!steps) return fail(steps.error());
  std::unique_ptr<draft_runner> drafts;
  if (head) {
    auto loaded = load_draft_runner(**steps, *head, *config);
    if (!loaded) return fail(loaded.error());
    drafts = std::move(*loaded);
  }

  auto engine = std::make_unique<offline_engine>(config->scheduler, facts->model.vocab_size,
                                                 std::move(*steps), std::move(drafts));
  engine->device_ = std::move(home);
  engine->summary_ = config->summary;
  return engine;
}

}  // namespace glimmer
