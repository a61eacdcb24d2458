// The actors of a house: each takes a letter to its core, as its shell does.
#include <chrono>

#include "engine/step_routing.hpp"
#include "tests/simulation/house.hpp"

namespace glimmer {
namespace {

template <class... Cases>
struct cases : Cases... {
  using Cases::operator()...;
};

constexpr address the_scheduler{seat::scheduler, 0};
constexpr address the_executor{seat::executor, 0};
constexpr address the_supervisor{seat::supervisor, 0};

address frontend_at(std::uint32_t index) {
  return {seat::frontend, index};
}

/// Request ids are dealt out like cards.
address frontend_of(request_id request, std::size_t frontends) {
  return frontend_at(static_cast<std::uint32_t>((request.value - 1) % frontends));
}

}  // namespace

void house::deliver(post_office::delivery one) {
  switch (one.to.who) {
    case seat::frontend: return at_frontend(one.to.index, one.what);
    case seat::tokenizer:
      return at_tokenizer(one.to.index, std::get<message::prepare_request>(one.what));
    case seat::parser: return at_parser(one.to.index, one.what);
    case seat::scheduler: return at_scheduler(one.from, one.what);
    case seat::executor: return at_executor(std::get<message::run_step>(one.what));
    case seat::supervisor: return at_supervisor(one.from, one.what);
  }
}

// ---- frontend ----------------------------------------------------------------------------------

void house::at_frontend(std::uint32_t index, letter& what) {
  auto& desk = desks_[index];
  std::visit(cases{[&](const message::request_refused& m) { desk.refuse(m.request, m.why, now_); },
                   [&](const message::write_bytes& m) { desk.answer(*m.pieces, now_); },
                   [&](const message::credits_given& m) { desk.credits_given(m.credits, now_); },
                   [&](const message::credits_recalled&) { desk.credits_recalled(); },
                   [&](const message::abort_requests& m) { desk.abort(m.wish); },
                   [&](const message::state_changed& m) { desk.state_changed(m.state); },
                   [&](const message::drain&) { desk.drain(now_); },
                   [&](const auto&) { complain("a frontend got a letter it does not know"); }},
             what);
  carry_out(index);
}

void house::carry_out(std::uint32_t frontend) {
  auto& desk = desks_[frontend];
  for (auto orders = desk.take_orders(); !orders.empty(); orders = desk.take_orders()) {
    for (const auto& order : orders) carry_out(frontend, order);
  }
  if (auto windows = desk.take_windows(); !windows.empty()) {
    mail_.send(frontend_at(frontend), the_scheduler, message::window_returned{std::move(windows)});
  }
}

void house::carry_out(std::uint32_t frontend, const desk_order& order) {
  using kind = desk_order::kind;
  const auto from = frontend_at(frontend);
  auto* g = at_socket(frontend, order.connection.value);
  switch (order.what) {
    case kind::prepare: {
      const auto to = tokenizer_of(order.request, order.bytes.size(), tokenizers_);
      if (g) g->number = order.request;
      works_[order.request].of = g ? static_cast<std::size_t>(g - guests_.data()) : guests_.size();
      mail_.send(from, {seat::tokenizer, static_cast<std::uint32_t>(to)},
                 message::prepare_request{order.request, order.where,
                                          std::make_shared<const std::string>(order.bytes),
                                          caf::actor{}, order.fairness_key});
      return;
    }
    case kind::cancel:
      return mail_.send(from, the_scheduler, message::cancel_request{order.request, order.reason});
    case kind::abort:
      return mail_.send(from, the_supervisor, message::abort_requests{{order.label, order.key}});
    case kind::want_credits:
      return mail_.send(from, the_supervisor, message::credits_wanted{order.credits});
    case kind::return_credits:
    case kind::answer_recall:
      return mail_.send(
          from, the_supervisor,
          message::credits_returned{order.credits, order.what == kind::answer_recall});
    case kind::reset_prefix_cache:
      return mail_.send(from, the_scheduler, message::reset_prefix_cache{});
    case kind::finished: return;
    case kind::write:
      if (g) write(*g, order.bytes);
      return;
    case kind::pause:
    case kind::resume:
      if (g) g->paused = order.what == kind::pause;
      return;
    case kind::shut_down:
      if (g) g->server_ended = true;
      return;
    case kind::close:
      if (g) g->server_closed = true;
      sockets_.erase({frontend, order.connection.value});
      return;
  }
}

void house::write(guest& g, const std::string& bytes) {
  g.kept += bytes;
  fill(g);
  desks_[g.frontend].written({g.connection}, {.sent = g.taken, .all = g.kept.empty()}, now_);
}

// ---- tokenizer and parser ----------------------------------------------------------------------

void house::at_tokenizer(std::uint32_t index, const message::prepare_request& asked) {
  const address from{seat::tokenizer, index};
  const auto home = frontend_of(asked.request, desks_.size());
  auto taken = intake_.take({.request = asked.request, .where = asked.where, .body = *asked.body},
                            {now_, 7});
  if (!taken) {
    return mail_.send(from, home, message::request_refused{asked.request, taken.error()});
  }
  auto& accepted = std::get<accepted_request>(*taken);
  const auto parser = static_cast<std::uint32_t>(parser_of(asked.request, parlours_.size()));
  mail_.send(from, {seat::parser, parser},
             message::open_answer{std::make_shared<const accepted_request>(std::move(accepted)),
                                  caf::actor{}});
}

void house::at_parser(std::uint32_t index, letter& what) {
  auto& desk = parlours_[index];
  std::visit(cases{[&](const message::open_answer& m) {
                     mail_.send({seat::parser, index}, the_scheduler,
                                message::submit_sequence{desk.open(m.accepted)});
                   },
                   [&](const message::sequence_admitted& m) { desk.admitted(m.request); },
                   [&](const message::sequence_refused& m) { desk.refused(m.request, m.why); },
                   [&](const message::tokens_ready& m) { desk.take(*m.step, now_); },
                   [&](const auto&) { complain("a parser got a letter it does not know"); }},
             what);
  send_mail(index);
}

void house::send_mail(std::uint32_t parser) {
  const address from{seat::parser, parser};
  auto mail = parlours_[parser].take_mail();
  std::map<address, std::vector<answer_piece>> pieces;
  for (auto& piece : mail.pieces) {
    pieces[frontend_of(piece.request, desks_.size())].push_back(std::move(piece));
  }
  for (auto& [to, several] : pieces) {
    mail_.send(from, to,
               message::write_bytes{
                   std::make_shared<const std::vector<answer_piece>>(std::move(several))});
  }
  for (auto& refusal : mail.refusals) {
    mail_.send(from, frontend_of(refusal.request, desks_.size()),
               message::request_refused{refusal.request, std::move(refusal.why)});
  }
  for (const auto& [sequence, index] : mail.ends) {
    mail_.send(from, the_scheduler, message::end_sequence{sequence, index});
  }
  for (const auto request : mail.cancels) {
    mail_.send(from, the_scheduler, message::cancel_request{request, cancel_reason::sibling});
  }
  if (!mail.windows.empty()) {
    mail_.send(from, the_scheduler, message::window_returned{std::move(mail.windows)});
  }
}

// ---- scheduler and executor --------------------------------------------------------------------

void house::at_scheduler(address from, letter& what) {
  std::visit(
      cases{[&](const message::submit_sequence& m) { submit(from.index, m); },
            [&](const message::cancel_request& m) { scheduler_.cancel(m.request, m.reason); },
            [&](const message::end_sequence& m) { scheduler_.end(m.sequence, m.output_index); },
            [&](const message::window_returned& m) {
              count_windows(m);
              for (const auto& [sequence, tokens] : m.taken) scheduler_.grant(sequence, tokens);
            },
            [&](const message::step_done& m) { tell_parsers(scheduler_.commit(*m.result, now_)); },
            [&](const message::step_failed& m) { scheduler_.fail_step(m.step, now_); },
            [&](const message::reset_prefix_cache&) { scheduler_.reset_prefix_cache(); },
            [&](const auto&) { complain("the scheduler got a letter it does not know"); }},
      what);
  go_on();
}

void house::submit(std::uint32_t parser, const message::submit_sequence& asked) {
  const auto request = asked.prompts.front().request;
  const auto taken = scheduler_.admit(asked.prompts, now_);
  if (!taken) {
    return mail_.send(the_scheduler, {seat::parser, parser},
                      message::sequence_refused{request, taken.error()});
  }
  for (const auto& one : *taken) works_[request].output_max.push_back(one.output_max);
  mail_.send(the_scheduler, {seat::parser, parser}, message::sequence_admitted{request});
}

void house::go_on() {
  auto plan = scheduler_.plan(now_);
  if (auto ended = scheduler_.take_finished(); !ended.empty()) tell_parsers({{}, std::move(ended)});
  if (!plan) return;
  mail_.send(the_scheduler, the_executor,
             message::run_step{std::make_shared<const step_plan>(std::move(*plan))});
}

void house::tell_parsers(committed step) {
  for (const auto& output : step.outputs) {
    auto& known = works_[output.request];
    const bool unwanted = known.of < guests_.size() && guests_[known.of].gone();
    if (unwanted) known.tokens_unwanted += output.tokens.size();
    auto& way = known.on_the_way[output.id];
    way += static_cast<std::int64_t>(output.tokens.size());
    if (way > bounds_.token_window) complain("more tokens on their way than the window holds");
  }
  auto routed = route_step(std::move(step), parlours_.size());
  for (std::uint32_t i = 0; i < routed.size(); ++i) {
    if (!routed[i]) continue;
    mail_.send(the_scheduler, {seat::parser, i}, message::tokens_ready{std::move(routed[i])});
  }
}

void house::count_windows(const message::window_returned& back) {
  for (const auto& [sequence, tokens] : back.taken) {
    auto& way = works_[{sequence.value >> choice_bits}].on_the_way[sequence];
    way -= tokens;
    if (way < 0) complain("more tokens came back than were made");
  }
}

/// A failure is known before it is told: whoever is in the step may hear of it.
void house::at_executor(const message::run_step& step) {
  const auto spoil = [&](sequence_id id) { works_[{id.value >> choice_bits}].failed = true; };
  auto result = executor_.run(*step.plan);
  if (options_.faults && chance_.permille(3)) {
    for (const auto& rows : step.plan->sequences) spoil(rows.id);
    return mail_.send(the_executor, the_scheduler,
                      message::step_failed{step.plan->id, {error_kind::device, "", "", "Lost."}});
  }
  for (auto& got : result.sequences) {
    if (!options_.faults || !chance_.permille(1)) continue;
    got.failed = true;
    got.tokens.clear();
    spoil(got.id);
  }
  mail_.send(the_executor, the_scheduler,
             message::step_done{std::make_shared<const step_result>(std::move(result))});
}

// ---- supervisor --------------------------------------------------------------------------------

void house::at_supervisor(address from, letter& what) {
  std::visit(cases{[&](const message::credits_wanted& m) {
                     pool_.wanted({from.index, m.credits});
                   },
                   [&](const message::credits_returned& m) {
                     pool_.returned({from.index, m.credits}, m.asked);
                   },
                   [&](const message::abort_requests& m) {
                     for (std::uint32_t i = 0; i < desks_.size(); ++i) {
                       if (i != from.index) mail_.send(the_supervisor, frontend_at(i), m);
                     }
                   },
                   [&](const auto&) { complain("the supervisor got a letter it does not know"); }},
             what);
  for (const auto& [kind, note] : pool_.take_orders()) {
    const auto to = frontend_at(static_cast<std::uint32_t>(note.holder));
    if (kind == credit_pool::order::kind::give) {
      mail_.send(the_supervisor, to, message::credits_given{note.credits});
    } else {
      mail_.send(the_supervisor, to, message::credits_recalled{});
    }
  }
}

/// What clocks do: frontends look around, the scheduler plans, the state is told.
void house::tick() {
  now_ = now_ + std::chrono::milliseconds{chance_.in({0, 400})};
  if (drains_ && phase_ == engine_phase::serving && chance_.percent(2)) {
    phase_ = engine_phase::draining;
    for (std::uint32_t i = 0; i < desks_.size(); ++i) {
      mail_.send(the_supervisor, frontend_at(i), message::drain{});
    }
  }
  for (std::uint32_t i = 0; i < desks_.size(); ++i) {
    mail_.send(the_supervisor, frontend_at(i),
               message::state_changed{{.phase = phase_, .scheduler = scheduler_.stats()}});
    desks_[i].tick(now_);
    carry_out(i);
  }
  go_on();
}

}  // namespace glimmer
