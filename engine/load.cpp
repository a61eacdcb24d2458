#include "engine/load.hpp"

#include <thread>
#include <utility>

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

}  // namespace glimmer
