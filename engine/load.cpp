#include "engine/load.hpp"

#include <thread>
#include <utility>

#include "engine/offline_engine.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "model/weights.hpp"

namespace glimmer {

engine_facts facts_of(const checkpoint& source, device& home) {
  const auto info = home.info();
  return {.model = source.config.text,
          .end_tokens = end_tokens(source.config, source.defaults),
          .weight_bytes = weight_bytes(home, source),
          .memory_bytes = info.memory_bytes,
          .free_bytes = info.free_bytes};
}

result<std::unique_ptr<executor>> load_executor(device& home, const checkpoint& source,
                                                const engine_config& config) {
  auto weights = load_weights(home, source);
  if (!weights) return fail(weights.error());
  const auto& model = source.config.text;
  auto text = decoder::make(home, model, std::move(*weights), config.activations);
  if (!text) return fail(text.error());
  auto caches = kv_caches::allocate(home, model, config.kv, config.kv_blocks);
  if (!caches) return fail(caches.error());
  const unsigned threads =
      config.threads > 0 ? config.threads : std::thread::hardware_concurrency();
  return std::make_unique<executor>(
      home, std::move(*text), std::move(*caches),
      executor_options{.end_tokens = config.scheduler.end_tokens, .sampling_threads = threads});
}

result<std::unique_ptr<offline_engine>> offline_engine::load(const std::filesystem::path& folder,
                                                             const engine_settings& settings) {
  const auto source = open_checkpoint(folder);
  if (!source) return fail(source.error());
  auto home = make_cpu_device({.threads = settings.threads});
  const auto facts = facts_of(*source, *home);
  const auto config = derive_config(settings, facts);
  if (!config) return fail(config.error());
  auto steps = load_executor(*home, *source, *config);
  if (!steps) return fail(steps.error());

  auto engine = std::make_unique<offline_engine>(config->scheduler, facts.model.vocab_size,
                                                 std::move(*steps));
  engine->device_ = std::move(home);
  engine->summary_ = config->summary;
  return engine;
}

}  // namespace glimmer
