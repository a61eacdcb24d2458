#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glimmer/engine.hpp"
#include "glimmer/glimmer.h"
#include "glimmer/options.hpp"

/// The C handle: an engine, and what its events said.
struct glimmer_engine {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;            // guarded by mutex
  std::optional<int> exit_code;  // guarded by mutex
  std::unique_ptr<glimmer::engine> up;

  void on_ready() {
    const std::lock_guard guard{mutex};
    ready = true;
    changed.notify_all();
  }
  void on_end(int code) {
    const std::lock_guard guard{mutex};
    exit_code = code;
    changed.notify_all();
  }
};

namespace {

void explain(const std::string& text, char* why, std::size_t size) {
  if (why == nullptr || size == 0) return;
  const auto kept = std::min(text.size(), size - 1);
  std::memcpy(why, text.data(), kept);
  why[kept] = '\0';
}

}  // namespace

glimmer_engine* glimmer_load(int count, const char* const* flags, char* why, size_t why_size) {
  const std::vector<std::string> arguments(flags, flags + count);
  const auto options = glimmer::parse_options(arguments);
  if (!options) return explain(options.error().text, why, why_size), nullptr;
  auto handle = std::make_unique<glimmer_engine>();
  auto* raw = handle.get();
  auto loaded = glimmer::engine::load(*options, {.on_ready = [raw] { raw->on_ready(); },
                                                 .on_end = [raw](int code) { raw->on_end(code); }});
  if (!loaded) return explain(loaded.error().text, why, why_size), nullptr;
  handle->up = std::move(*loaded);
  return handle.release();
}

int glimmer_wait_ready(glimmer_engine* engine) {
  std::unique_lock lock{engine->mutex};
  engine->changed.wait(lock, [&] { return engine->ready || engine->exit_code; });
  return engine->exit_code.value_or(0);
}

uint64_t glimmer_submit(glimmer_engine* engine, const char* chat_request, glimmer_on_part on_part,
                        void* user) {
  return engine->up
      ->submit(chat_request,
               [=](const glimmer::answer_part& part) {
                 on_part(user, part.status, part.bytes.data(), part.bytes.size(), part.last);
               })
      .number;
}

void glimmer_cancel(glimmer_engine* engine, uint64_t request) {
  engine->up->cancel({request});
}

void glimmer_drain(glimmer_engine* engine) {
  engine->up->drain();
}

int glimmer_wait_end(glimmer_engine* engine) {
  std::unique_lock lock{engine->mutex};
  engine->changed.wait(lock, [&] { return engine->exit_code.has_value(); });
  return *engine->exit_code;
}

void glimmer_free(glimmer_engine* engine) {
  delete engine;
}

const char* glimmer_version_text(void) {
  return glimmer::glimmer_version().data();
}
