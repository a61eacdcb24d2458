#include "tests/simulation/house.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/tokenizer/fixture.hpp"

namespace glimmer {

using std::chrono::milliseconds;

namespace {

constexpr std::uint64_t process_key = 77;
constexpr std::uint32_t vocab = 1536;
constexpr std::uint32_t long_seed = 4'000'000;  // of the request that is answered by a long call
constexpr std::uint32_t long_call_tokens = 10'000;
constexpr std::uint32_t long_window = 64;
constexpr std::uint64_t tokens_unwanted_max = 400;  // made for a guest that has left

/// An answer, any tokens at all, now and then a control token or an end.
voice draw_voice() {
  const auto opening = test::turn_tokens(" to=user<|message|>");
  const auto call = test::turn_tokens(
      " to=plan<|message|><atem:function_calls>\n<atem:invoke name=\"plan\">\n"
      "<atem:parameter name=\"steps\">[\"");
  const auto close =
      test::turn_tokens("\"]</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>");
  const auto letter = test::turn_tokens("x").front();
  const auto eot = test::release_like()->id(control_token::eot);
  return [=](const sampling_params& params, next_word next) {
    const auto at = next.output_index;
    if (params.max_tokens >= long_call_tokens) {
      if (at < call.size()) return call[at];
      const auto behind = long_call_tokens - static_cast<std::uint32_t>(close.size());
      return at < behind ? letter : close[std::min<std::size_t>(at - behind, close.size() - 1)];
    }
    if (params.seed % 4 != 0 && at < opening.size()) return opening[at];
    if (next.chance % 100 < 2) return eot;
    const auto reach = next.chance % 100 < 6 ? vocab : 256u;
    return static_cast<token_id>(next.chance / 128 % reach);
  };
}

guest long_guest(std::string label) {
  guest out{.label = std::move(label), .stream = true, .read_percent = 60};
  out.body =
      R"({"messages":[{"role":"user","content":"Plan."}],"stream":true,"return_token_ids":true,)"
      R"("tools":[{"type":"function","function":{"name":"plan","parameters":{"type":"object",)"
      R"("properties":{"steps":{"type":"array","items":{"type":"string"}}}}}}],"max_tokens":)" +
      std::to_string(long_call_tokens) + ",\"seed\":" + std::to_string(long_seed) + "}";
  out.request =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(out.body.size()) + "\r\n\r\n" + out.body;
  return out;
}

}  // namespace

// --- Drawing -------------------------------------------------------------------------------

house::house(std::uint64_t seed, house_options options)
    : chance_{seed},
      options_{options},
      config_{draw_config()},
      bounds_{draw_bounds()},
      says_{draw_voice()},
      tokens_{test::release_like()},
      intake_{{.requests = {.served_models = {"house"}, .vocab_tokens = vocab, .bounds = bounds_},
               .process_key = process_key},
              request_preparer{tokens_,
                               {.context_tokens = config_.max_model_len, .vocab_tokens = vocab}}},
      scheduler_{config_},
      executor_{config_, says_},
      pool_{bounds_.requests_in_flight} {
  const auto frontends = chance_.in({1, 3});
  for (std::uint32_t i = 0; i < frontends; ++i) {
    desks_.emplace_back(desk_config{.bounds = bounds_,
                                    .admission_credits = bounds_.requests_in_flight,
                                    .credits_leased = true,
                                    .first_request = 1 + i,
                                    .request_stride = frontends,
                                    .label_seed = i,
                                    .context_tokens = config_.max_model_len});
    desks_.back().state_changed({.phase = phase_});
  }
  for (auto more = chance_.in({1, 3}); more > 0; --more) parlours_.push_back(new_parlour());
  tokenizers_ = chance_.in({1, 3});
  drains_ = !options.long_call && chance_.percent(20);
  for (std::uint32_t i = 0; i < options.guests; ++i) {
    guests_.push_back(draw_guest(chance_, "guest-" + std::to_string(i)));
  }
  if (options.long_call) guests_.push_back(long_guest("long"));
  for (auto& g : guests_) g.frontend = chance_.in({0, frontends - 1});
}

scheduler_config house::draw_config() {
  scheduler_config config;
  config.block_size = 1u << chance_.in({0, 4});
  config.window = chance_.in({4, 64});
  config.max_model_len = chance_.in({200, 900});
  config.max_num_seqs = chance_.in({1, 12});
  config.max_num_batched_tokens = config.max_num_seqs + chance_.in({8, 200});
  const auto blocks = 900 / config.block_size;
  config.blocks = {chance_.in({blocks / 2, 4 * blocks}), chance_.in({blocks / 4, 4 * blocks})};
  config.parked_max = milliseconds{chance_.in({500, 8000})};
  config.queued_tokens_max = chance_.percent(20) ? 300 : 100'000;
  config.end_tokens = {test::release_like()->id(control_token::eot)};
  config.prefix_caching = chance_.percent(70);
  if (chance_.percent(40)) config.tokens_per_step_max = chance_.in({2, 16});
  if (options_.long_call) {
    config.block_size = 16;
    config.max_model_len = 2 * long_call_tokens;
    config.blocks = {2 * long_call_tokens / 16, 2 * long_call_tokens / 16};
  }
  return config;
}

limits house::draw_bounds() {
  limits out;
  out.requests_in_flight = chance_.percent(50) ? chance_.in({1, 6}) : 64;
  out.token_window = options_.long_call ? long_window : chance_.in({16, 256});
  out.header_timeout_ms = 5'000;
  out.idle_timeout_ms = 20'000;
  if (chance_.percent(20)) out.request_timeout_ms = chance_.in({1000, 20'000});
  if (options_.long_call) {
    out.requests_in_flight = 64;
    out.request_timeout_ms = 0;
  }
  return out;
}

answer_desk house::new_parlour() const {
  return answer_desk{{.tokens = tokens_,
                      .process_key = process_key,
                      .bounds = bounds_,
                      .context_tokens = config_.max_model_len}};
}

// --- Living --------------------------------------------------------------------------------

void house::complain(const std::string& what) {
  if (complaint_.empty()) complaint_ = "event " + std::to_string(events_) + ": " + what;
}

std::string house::live() {
  const auto gone = [](const guest& g) { return g.gone(); };
  while (complaint_.empty() && (!std::ranges::all_of(guests_, gone) || !mail_.empty() ||
                                !scheduler_.idle() || !sockets_.empty())) {
    event();
    if (events_ > 2'000'000) complain("the house does not come to rest");
  }
  if (complaint_.empty()) check_end();
  return complaint_;
}

void house::event() {
  ++events_;
  const auto what = chance_.in({0, 99});
  if (what < 60 && !mail_.empty()) {
    deliver(mail_.take(chance_));
  } else if (what < 97) {
    act(guests_[chance_.next() % guests_.size()]);
  } else {
    tick();
  }
  now_ = now_ + milliseconds{chance_.in({0, 2})};
  if (const auto broken = scheduler_.check_invariants()) complain(*broken);
  if (!executor_.complaint().empty()) complain(executor_.complaint());
}

// --- Guests and their sockets --------------------------------------------------------------

guest* house::at_socket(std::uint32_t frontend, std::uint64_t connection) {
  const auto at = sockets_.find({frontend, connection});
  return at == sockets_.end() || at->second >= guests_.size() ? nullptr : &guests_[at->second];
}

void house::act(guest& g) {
  if (g.gone()) return;
  if (g.connection == 0) return come(g);
  auto& desk = desks_[g.frontend];
  if (chance_.permille(g.leave_permille) || (g.patience > 0 && --g.patience == 0)) {
    return leave(g);
  }
  if (!g.asked_to_abort && g.number && chance_.permille(g.abort_permille)) call_abort(g);
  if (g.sent < g.request.size() && !g.paused && !g.server_ended) {
    const auto size = chance_.in({1, static_cast<std::uint32_t>(g.request.size() - g.sent)});
    const auto bytes = g.request.substr(g.sent, size);
    g.sent += size;
    desk.received({g.connection}, bytes, now_);
    carry_out(g.frontend);
  }
  if (!g.gone() && !g.unread.empty() && chance_.percent(g.read_percent)) hear(g);
  const bool over = g.answered() || (g.server_ended && g.kept.empty() && g.unread.empty());
  if (!g.gone() && over && chance_.percent(50)) {
    verify(g);
    leave(g);
  }
}

void house::come(guest& g) {
  if (!chance_.percent(10)) return;
  g.connection = ++connections_;
  sockets_[{g.frontend, g.connection}] = static_cast<std::size_t>(&g - guests_.data());
  desks_[g.frontend].opened({g.connection}, now_);
  carry_out(g.frontend);
}

/// With a reset, or by ending its direction first.
void house::leave(guest& g) {
  g.left = true;
  auto& desk = desks_[g.frontend];
  if (g.ends_its_side) {
    desk.input_ended({g.connection}, now_);
    carry_out(g.frontend);
  }
  desk.lost({g.connection}, now_);
  carry_out(g.frontend);
}

void house::hear(guest& g) {
  const auto size = chance_.in({1, static_cast<std::uint32_t>(g.unread.size())});
  g.heard.append(g.unread, 0, size);
  g.unread.erase(0, size);
  const bool was_kept = !g.kept.empty();
  fill(g);
  auto& desk = desks_[g.frontend];
  if (was_kept) {
    desk.written({g.connection}, {.sent = g.taken, .all = g.kept.empty()}, now_);
    carry_out(g.frontend);
  }
  if (g.server_ended && g.kept.empty() && !g.gone()) {
    desk.shut_down_done({g.connection}, now_);
    carry_out(g.frontend);
  }
}

/// What fits moves into the socket.
void house::fill(guest& g) {
  const auto size = std::min(g.kept.size(), g.buffer - g.unread.size());
  g.unread.append(g.kept, 0, size);
  g.kept.erase(0, size);
  g.taken += size;
}

/// Over a connection of its own, on any frontend; whatever is answered there.
void house::call_abort(guest& g) {
  g.asked_to_abort = true;
  const auto frontend = chance_.in({0, static_cast<std::uint32_t>(desks_.size() - 1)});
  const connection_id connection{++connections_};
  sockets_[{frontend, connection.value}] = guests_.size();  // nobody's
  desks_[frontend].opened(connection, now_);
  desks_[frontend].received(
      connection, "DELETE /v1/chat/completions/" + g.label + " HTTP/1.1\r\nHost: a\r\n\r\n", now_);
  carry_out(frontend);
  desks_[frontend].lost(connection, now_);
  carry_out(frontend);
}

// --- Checking ------------------------------------------------------------------------------

/// A guest that stayed has heard all it will hear.
void house::verify(const guest& g) {
  const auto got = read_http(g.heard);
  const auto& known = g.number ? works_[*g.number] : work{};
  const bool slow = g.sent < g.request.size();
  switch (got.status) {
    case 200: return verify_answer(g, got);
    case 0:  // it had not begun when the server closed idle connections
      if (!g.heard.empty() || (g.sent > 0 && phase_ == engine_phase::serving)) {
        complain(g.label + " was left without an answer");
      }
      break;
    case 400:
    case 429: break;  // too long for these pools, or too many
    case 408:
      if (!slow) complain(g.label + " was called slow");
      break;
    case 499:
      if (!g.asked_to_abort) complain(g.label + " was aborted by nobody");
      break;
    case 500:
      if (!known.failed) complain(g.label + " failed without a fault");
      break;
    case 503:
      if (phase_ == engine_phase::serving) complain(g.label + " was told to come later");
      break;
    case 504:
      if (bounds_.request_timeout_ms == 0) complain(g.label + " ran out of no time");
      break;
    default: complain(g.label + " heard " + std::to_string(got.status) + ": " + g.heard);
  }
}

void house::verify_answer(const guest& g, const http_answer& got) {
  const auto& known = works_[*g.number];
  const auto told = got.stream ? read_stream(got.body) : read_unary(got.body);
  if (got.stream != g.stream) complain(g.label + " got the other kind of answer");
  if (!got.whole) return complain(g.label + ": the server left before its answer was whole");
  if (!told.done) complain(g.label + ": a stream without its last word");
  if (told.error) {
    const auto& code = *told.error;
    const bool plausible = (code == "aborted" && g.asked_to_abort) ||
                           (code == "timeout" && bounds_.request_timeout_ms > 0) ||
                           (code == "cancelled" && g.stream) || (code.empty() && known.failed) ||
                           (known.failed && code != "broken");
    if (!plausible) complain(g.label + " ended with " + code);
    return;
  }
  ++compared_;
  if (told.choices != alone(g).choices) {
    complain(g.label + " was not answered as it is alone: " + g.heard);
  }
}

/// The answer to the same request in one piece, token by token, with nobody else about.
told_answer house::alone(const guest& g) const {
  auto accepted = intake_.accept(
      {.request = *g.number, .where = route::chat_completions, .body = g.body}, {now_, 7});
  accepted->response.stream = false;
  auto desk = new_parlour();
  const auto asked = desk.open(std::make_shared<const accepted_request>(*accepted));
  desk.admitted(*g.number);
  desk.take_mail();
  const auto& prompt = asked.front();
  std::string body;
  for (const auto& choice : prompt.choices) {
    const auto most = std::min(works_.at(*g.number).output_max.at(0), choice.params->max_tokens);
    sequence_finished ending{.id = choice.id, .request = *g.number, .cause = end_cause::length};
    std::uint32_t index = 0;
    for (const auto token : solo_stream(*prompt.prompt, *choice.params, most, says_)) {
      sequence_output output{.id = choice.id, .request = *g.number, .first_index = index++};
      output.tokens = {token};
      if (choice.params->logprobs) output.logprobs = {{.token = token, .logprob = 0, .top = {}}};
      desk.take({{output}, {}}, now_);
      if (!desk.take_mail().ends.empty()) {
        ending.cause = end_cause::stop_string;
        break;
      }
      if (!choice.params->ignore_eos && token == config_.end_tokens.front()) {
        ending.cause = end_cause::stop_token;
        ending.stop_token = token;
        break;
      }
    }
    ending.usage.completion_tokens = index;
    desk.take({{}, {ending}}, now_);
    for (const auto& piece : desk.take_mail().pieces) body += piece.bytes;
  }
  return read_unary(body);
}

void house::check_end() {
  std::size_t held = 0;
  for (const auto& desk : desks_) {
    if (desk.open_requests() != 0) complain("a frontend still has requests");
    if (desk.connections() != 0) complain("a frontend still has connections");
    held += desk.credits_left();
  }
  if (pool_.in_pool() + held != pool_.total()) complain("admission credits were lost or made");
  for (const auto& parlour : parlours_) {
    if (parlour.open_requests() != 0) complain("a parser still has answers");
  }
  const auto stats = scheduler_.stats();
  for (const auto& blocks : stats.blocks) {
    if (blocks.used != 0 || blocks.free + blocks.cached != blocks.all) complain("blocks leaked");
  }
  if (stats.queued_tokens != 0) complain("queued tokens leaked");
  for (const auto& [request, known] : works_) {
    if (known.tokens_unwanted > tokens_unwanted_max) {
      complain("request " + std::to_string(request.value) + " went on without its guest");
    }
  }
  if (!options_.long_call) return;
  const auto told = read_stream(read_http(guests_.back().heard).body);
  if (!told.done || told.choices.empty() || told.choices.at(0).calls.empty() ||
      told.choices.at(0).calls.at(0).size() < 9'000) {
    complain("the long call did not finish");
  }
}

std::uint64_t house::digest() const {
  std::uint64_t out = events_;
  for (const auto& g : guests_) {
    for (const auto c : g.heard) out = mix(out ^ static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace glimmer
