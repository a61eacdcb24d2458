#include "glimmer/assembly.hpp"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>
#include <utility>

#include "actors/real_clock.hpp"
#include "engine/load.hpp"
#include "engine/script_stepper.hpp"
#include "engine/turns.hpp"
#include "model/checkpoint.hpp"
#include "protocol/openai/models_list.hpp"
#include "tokenizer/chat_template.hpp"
#include "tokenizer/tokenizer.hpp"

namespace glimmer {
namespace {

namespace fs = std::filesystem;

/// A device and who works on it. The draft head knows the executor, both know the device.
struct device_room {
  std::unique_ptr<device> home;
  std::unique_ptr<executor> steps;
  std::unique_ptr<draft_runner> drafts;
};

/// Random for every process: answer ids, call ids and seeds must not repeat after a restart.
std::uint64_t draw_process_key() {
  std::random_device source;
  return std::uint64_t{source()} << 32 | source();
}

sampling_params sampling_defaults(const generation_defaults& from) {
  sampling_params out;
  out.temperature = from.temperature.value_or(out.temperature);
  out.top_p = from.top_p.value_or(out.top_p);
  out.min_p = from.min_p.value_or(out.min_p);
  out.top_k = from.top_k.value_or(out.top_k);
  out.repetition_penalty = from.repetition_penalty.value_or(out.repetition_penalty);
  return out;
}

/// --generation-config: the checkpoint's own, none, or another folder's.
result<sampling_params> chosen_sampling(const std::string& choice, const checkpoint& source) {
  if (choice == "auto") return sampling_defaults(source.defaults);
  if (choice == "vllm") return sampling_params{};
  if (!fs::exists(fs::path{choice} / "generation_config.json")) {
    return fail(bad_value("generation-config",
                          fmt::format("--generation-config: {} holds no generation_config.json; "
                                      "auto, vllm and a folder with that file are allowed",
                                      choice)));
  }
  const auto other = read_generation_defaults(choice);
  if (!other) return fail(other.error());
  return sampling_defaults(*other);
}

struct opened {
  std::string given;  // the model's name as the operator wrote it
  fs::path folder;
  std::shared_ptr<const checkpoint> source;
  std::shared_ptr<const tokenizer> tokens;
  std::shared_ptr<const draft_checkpoint> head;  // nullptr: no drafting
};

/// The draft head that the options name, or nullptr.
result<std::shared_ptr<const draft_checkpoint>> open_head(const server_options& options,
                                                          const checkpoint& target) {
  if (!options.engine.drafter.wanted()) return nullptr;
  const auto folder = resolve_model(options.engine.drafter.model, hub_cache_folder());
  if (!folder) return fail(folder.error());
  auto head = open_draft_checkpoint(*folder, target.config.text);
  if (!head) return fail(head.error());
  return std::make_shared<const draft_checkpoint>(std::move(*head));
}

result<opened> open_model(const server_options& options) {
  auto given = options.model;
  if (given.empty()) {
    const auto own = embedded_model();
    if (!own) return fail(own.error());
    given = *own;
  }
  const auto folder = resolve_model(given, hub_cache_folder());
  if (!folder) return fail(folder.error());
  auto source = open_checkpoint(*folder);
  if (!source) return fail(source.error());
  const auto tokens = tokenizer::load((*folder / "tokenizer.json").string());
  if (!tokens) return fail(tokens.error());
  auto head = open_head(options, *source);
  if (!head) return fail(head.error());
  return opened{std::move(given), *folder, std::make_shared<const checkpoint>(std::move(*source)),
                *tokens, std::move(*head)};
}

/// The prompt format is built in; a checkpoint that brings another template must not pass
/// unnoticed.
void log_template(const event_log& log, const fs::path& folder) {
  std::ifstream file{folder / "chat_template.jinja", std::ios::binary};
  if (!file) return;
  const std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (is_known_chat_template(text)) return;
  log.warning("template",
              "chat_template.jinja is not the one whose format is built in; prompts follow the "
              "built-in format");
}

/// What computes, and what proposes where somebody does.
struct workers {
  stepper_factory load_stepper;
  proposer_factory make_proposer;
};

/// The model on its device. The draft head is loaded with it, on the executor's thread: a head that
/// cannot be loaded ends the start.
workers plan_device(const opened& model, std::unique_ptr<device> home,
                    const engine_config& config) {
  auto room = std::make_shared<device_room>();
  room->home = std::move(home);
  auto taken = std::make_shared<turns>();
  workers out;
  out.load_stepper = [room, taken, source = model.source, head = model.head,
                      config]() -> result<std::unique_ptr<stepper>> {
    auto steps = load_executor(*room->home, *source, config, head.get());
    if (!steps) return fail(steps.error());
    room->steps = std::move(*steps);
    if (head) {
      auto drafts = load_draft_runner(*room->steps, *head, config);
      if (!drafts) return fail(drafts.error());
      room->drafts = std::move(*drafts);
    }
    return std::make_unique<stepper_in_turn>(std::shared_ptr<stepper>{room, room->steps.get()},
                                             taken);
  };
  if (!model.head) return out;
  out.make_proposer = [room, taken]() -> result<std::unique_ptr<proposer>> {
    return std::make_unique<proposer_in_turn>(std::shared_ptr<proposer>{room, room->drafts.get()},
                                              taken);
  };
  return out;
}

/// The model on its device, or the turns of a script. The script is read here, so that a wrong one
/// is refused at the start.
result<workers> plan_workers(const server_options& options, const opened& model,
                             std::unique_ptr<device> home, engine_config& config) {
  if (!options.script.empty()) {
    auto turns = load_script(options.script, *model.tokens);
    if (!turns) return fail(turns.error());
    config.scheduler.tokens_per_step_max = turns->tokens_per_step_max();
    return workers{.load_stepper = [turns = std::move(*turns),
                                    tokens = model.tokens]() -> result<std::unique_ptr<stepper>> {
      return std::make_unique<script_stepper>(turns, tokens, let_pass);
    }};
  }
  return plan_device(model, std::move(home), config);
}

std::vector<std::string> served_names(const server_options& options, const std::string& given) {
  if (!options.served_model_names.empty()) return options.served_model_names;
  if (options.model.empty()) return {"glimmer"};
  return {given};
}

desk_config plan_desk(const server_options& options, std::span<const std::string> names,
                      std::uint32_t context_tokens) {
  std::vector<model_entry> models;
  for (const auto& name : names) {
    models.push_back({.id = name,
                      .root = names.front(),
                      .context_tokens = context_tokens,
                      .created = wall_now()});
  }
  return {.bounds = options.limits,
          .half_close_ok = options.half_close_ok,
          .api_keys = options.api_keys,
          .models_body = models_body(models),
          .version_body = version_body(glimmer_version()),
          .common_labels = {{"model_name", names.front()}, {"engine", "0"}},
          .label_seed = draw_process_key(),
          .context_tokens = context_tokens};
}

void log_drafting(const event_log& log, const server_options& options, const opened& model,
                  const engine_config& config) {
  if (!model.head) return log.info("drafting", "off");
  for (const auto& note : model.head->notes) log.info("draft head", note);
  for (const auto& note : config.notes) log.warning("drafting", note);
  const auto& chosen = config.scheduler.drafting;
  log.info("drafting",
           fmt::format("on: {} up to {} tokens, by {}", chosen.adaptive ? "as it pays," : "always",
                       chosen.tokens_max, options.engine.drafter.model));
}

void log_start(const event_log& log, const server_options& options, const checkpoint& source,
               const engine_config& config) {
  for (const auto& note : options.notes) log.warning("option", note);
  for (const auto& note : source.notes) log.info("checkpoint", note);
  if (config.scheduler.max_model_len > source.config.text.positions_max) {
    log.warning("sizes",
                fmt::format("max_model_len {} is beyond the {} the checkpoint was made for",
                            config.scheduler.max_model_len, source.config.text.positions_max));
  }
  log.info("sizes", config.summary);
}

}  // namespace

result<std::string> embedded_model() {
  std::error_code code;
  const auto self = fs::read_symlink("/proc/self/exe", code);
  if (!code) {
    // build/glimmer/glimmerd -> build/models/default; PREFIX/bin -> PREFIX/share/glimmer/...
    const auto above = self.parent_path().parent_path();
    for (const auto& folder : {above / "models/default", above / "share/glimmer/models/default"}) {
      if (fs::exists(folder / "config.json")) return folder.string();
    }
  }
  return fail(
      {error_kind::not_found, "no_model", "",
       "No model was named and none lies beside the executable; name a checkpoint folder."});
}

server_rules rules_of(const server_options& options) {
  return {.desk = {.bounds = options.limits, .api_keys = options.api_keys},
          .drain_time = std::chrono::seconds{options.drain_seconds},
          .progress_max = std::chrono::seconds{options.watchdog_seconds}};
}

result<assembly> assemble(const server_options& options, engine_events events,
                          engine::with_http http) {
  const event_log log{parse_log_level(options.log_level)};
  auto model = open_model(options);
  if (!model) return fail(model.error());
  auto home = open_cpu_device(options.engine);
  if (!home) return fail(home.error());
  const auto facts = facts_of(*model->source, **home, options.engine, model->head.get());
  if (!facts) return fail(facts.error());
  auto config = derive_config(options.engine, *facts);
  if (!config) return fail(config.error());
  const auto sampling = chosen_sampling(options.generation_config, *model->source);
  if (!sampling) return fail(sampling.error());
  auto staff = plan_workers(options, *model, std::move(*home), *config);
  if (!staff) return fail(staff.error());
  log_start(log, options, *model->source, *config);
  log_drafting(log, options, *model, *config);
  log_template(log, model->folder);

  const auto names = served_names(options, model->given);
  const auto context = config->scheduler.max_model_len;
  const auto vocab = static_cast<std::uint32_t>(model->source->config.text.vocab_size);
  const auto key = draw_process_key();
  auto scheduling = config->scheduler;
  scheduling.queued_tokens_max = options.limits.queued_tokens;
  scheduling.parked_max = std::chrono::milliseconds{options.limits.parked_ms};
  return assembly{
      .plan = {.scheduling = scheduling,
               .load_stepper = std::move(staff->load_stepper),
               .make_proposer = std::move(staff->make_proposer),
               .intake = std::make_shared<const request_intake>(
                   intake_rules{.requests = {.served_models = names,
                                             .defaults = *sampling,
                                             .vocab_tokens = vocab,
                                             .bounds = options.limits},
                                .seed = options.seed,
                                .process_key = key},
                   request_preparer{model->tokens,
                                    {.context_tokens = context,
                                     .vocab_tokens = vocab,
                                     .answer_bytes = options.limits.answer_bytes}}),
               .answers = {.tokens = model->tokens,
                           .process_key = key,
                           .bounds = options.limits,
                           .context_tokens = context},
               .tokenizers = options.tokenizers,
               .parsers = options.parsers,
               .frontends = http == engine::with_http::yes ? options.frontends : 0,
               .desk = plan_desk(options, names, context),
               .listen = {.address = {.host = options.host, .port = options.port},
                          .connections_max = options.limits.connections},
               .supervision = {.log = log,
                               .drain_time = std::chrono::seconds{options.drain_seconds},
                               .progress_max = std::chrono::seconds{options.watchdog_seconds},
                               .admission_credits = options.limits.requests_in_flight,
                               .on_ready = std::move(events.on_ready),
                               .on_end =
                                   [on_end = std::move(events.on_end)](engine_end how) {
                                     if (on_end) on_end(static_cast<int>(how));
                                   }}},
      .model_name = names.front()};
}

}  // namespace glimmer
