#include "tests/actors/stage.hpp"

namespace glimmer::test {
namespace {

constexpr token_id vocab = 1536;

gated_lines lines() {
  return {.script = turn_tokens(" to=self<|message|>Hm, well.<|eom|><|start|>"
                                "assistant to=user<|message|>Hello there. ")};
}

crew_plan plan_of(const stage_options& options, stepper_factory load) {
  const auto& tokens = release_like();
  return {.scheduling = {.max_model_len = 4096,
                         .max_num_seqs = 16,
                         .max_num_batched_tokens = 512,
                         .blocks = {1024, 1024},
                         .window = 128,
                         .end_tokens = {tokens->id(control_token::eot)}},
          .load_stepper = std::move(load),
          .intake = std::make_shared<const request_intake>(
              intake_rules{.requests = {.served_models = {"tiny"}, .vocab_tokens = vocab}},
              request_preparer{tokens, {.context_tokens = 4096, .vocab_tokens = vocab}}),
          .answers = {.tokens = tokens, .context_tokens = 4096},
          .tokenizers = options.tokenizers,
          .parsers = options.parsers,
          .supervision = {.log = event_log{log_level::error}}};
}

}  // namespace

stage::stage(stage_options options) {
  auto load = options.load ? options.load : [at = gate]() -> result<std::unique_ptr<stepper>> {
    return std::make_unique<gated_stepper>(at, lines());
  };
  auto plan = plan_of(options, std::move(load));
  if (options.drafting) {
    plan.scheduling.drafting = {.tokens_max = 4,
                                .adaptive = false,
                                .verify_rows_max = 512,
                                .vocab_size = vocab,
                                .wait_max = options.draft_wait_max};
    plan.make_proposer = options.draft;
    if (!plan.make_proposer) {
      plan.make_proposer = [at = gate]() -> result<std::unique_ptr<proposer>> {
        return std::make_unique<gated_proposer>(at, lines());
      };
    }
  }
  plan.supervision.on_ready = [this] { ready_.set_value(); };
  plan.supervision.on_end = [this](engine_end how) { ended_.set_value(how); };
  auto made = crew::muster(system_, std::move(plan));
  BOOST_REQUIRE(made.has_value());
  actors = std::move(*made);
}

inbox stage::submit(std::string_view fields) {
  inbox out;
  const std::string body =
      R"({"messages": [{"role": "user", "content": "Hi"}], "ignore_eos": true)" +
      std::string{fields.empty() ? "" : ", "} + std::string{fields} + "}";
  caf::anon_send(actors->client(),
                 message::client_request{client_ticket{++tickets_},
                                         std::make_shared<const std::string>(body), out.sink()});
  return out;
}

}  // namespace glimmer::test
