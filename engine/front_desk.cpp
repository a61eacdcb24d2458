#include "engine/front_desk.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "engine/random_name.hpp"
#include "protocol/metrics_text.hpp"
#include "protocol/openai/error_body.hpp"
#include "protocol/sse_encoder.hpp"

namespace glimmer {
namespace {

constexpr duration keep_alive_period = std::chrono::seconds{15};
constexpr std::size_t label_bytes_max = 128;

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= label_bytes_max &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_json_type(std::string_view content_type) {
  const auto kind = content_type.substr(0, content_type.find(';'));
  constexpr std::string_view json = "application/json";
  return kind.size() >= json.size() &&
         std::ranges::equal(kind.substr(0, json.size()), json,
                            [](char a, char b) { return (a | 0x20) == (b | 0x20); }) &&
         kind.substr(json.size()).find_first_not_of(" \t") == kind.npos;
}

/// Compares without telling by its time how far two keys agree.
struct key_pair {
  std::string_view given;
  std::string_view known;
};
bool same_key(key_pair keys) {
  unsigned difference = keys.given.size() == keys.known.size() ? 0 : 1;
  for (std::size_t i = 0; i < keys.given.size(); ++i) {
    const auto known = keys.known.empty() ? 0 : keys.known[i % keys.known.size()];
    difference |= static_cast<unsigned char>(keys.given[i] ^ known);
  }
  return difference == 0;
}

error no_such_route() {
  return {error_kind::not_found, "not_found", "",
          "This path is not served; POST /v1/chat/completions, POST /v1/completions and "
          "GET /v1/models are."};
}

}  // namespace

front_desk::front_desk(desk_config config)
    : config_{std::move(config)},
      credits_{config_.admission_credits / 16},
      next_request_{config_.first_request},
      counters_{config_.context_tokens} {
  if (!config_.credits_leased) credits_.given(config_.admission_credits);
}

// ---- sockets -----------------------------------------------------------------------------------

void front_desk::opened(connection_id id, time_point now) {
  connections_.emplace(id,
                       connection{.http = http_connection{config_.bounds,
                                                          {.half_close_ok = config_.half_close_ok,
                                                           .one_request = draining_},
                                                          now},
                                  .began = now,
                                  .last_bytes = now});
}

void front_desk::received(connection_id id, std::string_view bytes, time_point now) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  at->second.http.feed(bytes, now);
  obey(id, at->second, now);
}

void front_desk::input_ended(connection_id id, time_point now) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  at->second.http.input_ended(now);
  obey(id, at->second, now);
}

void front_desk::lost(connection_id id, time_point now) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  at->second.http.lost();
  obey(id, at->second, now);
}

void front_desk::written(connection_id id, write_progress progress, time_point now) {
  const auto at = connections_.find(id);
  if (at == connections_.end()) return;
  auto& marks = at->second.marks;
  const auto open = std::ranges::find_if(
      marks, [&](const written_mark& mark) { return mark.behind > progress.sent; });
  for (auto mark = marks.begin(); mark != open; ++mark) windows_.push_back(mark->taken);
  marks.erase(marks.begin(), open);
  if (!progress.all) return;
  at->second.http.flushed(now);
  obey(id, at->second, now);
}

void front_desk::shut_down_done(connection_id id, time_point now) {
  written(id, {.sent = UINT64_MAX, .all = true}, now);
}

void front_desk::tick(time_point now) {
  end_late(now);
  tell_credits();
  counters_.set(counters_.series(metric::connections), static_cast<double>(connections_.size()));
  std::vector<connection_id> ids;  // a connection may close itself while it is served
  for (const auto& [id, at] : connections_) ids.push_back(id);
  for (const auto id : ids) {
    auto& at = connections_.at(id);
    at.http.tick(now);
    keep_alive(at, now);
    obey(id, at, now);
  }
}

/// A quiet stream says so, or proxies and clients give up on it.
void front_desk::keep_alive(connection& at, time_point now) {
  const auto exchange = at.http.current();
  if (!at.http.streaming(exchange) || now - at.last_bytes < keep_alive_period) return;
  at.http.stream(exchange, sse_keep_alive);
  at.last_bytes = now;
}

/// Takes what the connection wants until it wants nothing more, then what it wants written.
void front_desk::obey(connection_id id, connection& at, time_point now) {
  bool closed = false;
  while (const auto action = at.http.next_action()) {
    switch (action->what) {
      case http_action::kind::ask_gate: at_gate(id, at, action->exchange, now); break;
      case http_action::kind::request: start_work(id, at, action->exchange); break;
      case http_action::kind::refuse:
        respond(at, action->exchange, error_response(action->refusal), now);
        break;
      case http_action::kind::cancel: client_gone(at); break;
      case http_action::kind::shut_down:
        flush(id, at);
        orders_.push_back({.what = desk_order::kind::shut_down, .connection = id});
        break;
      case http_action::kind::close: closed = true; break;
    }
  }
  flush(id, at);
  if (closed) {
    client_gone(at);
    for (const auto& mark : at.marks) windows_.push_back(mark.taken);
    orders_.push_back({.what = desk_order::kind::close, .connection = id});
    connections_.erase(id);
    return;
  }
  if (at.http.wants_read() != at.reading) {
    at.reading = !at.reading;
    orders_.push_back({.what = at.reading ? desk_order::kind::resume : desk_order::kind::pause,
                       .connection = id});
  }
}

void front_desk::flush(connection_id id, connection& at) {
  if (at.http.output().empty()) return;
  at.queued += at.http.output().size();
  orders_.push_back(
      {.what = desk_order::kind::write, .connection = id, .bytes = std::string{at.http.output()}});
  at.http.clear_output();
}

// ---- gate 1 ------------------------------------------------------------------------------------

void front_desk::at_gate(connection_id id, connection& at, exchange_id exchange, time_point now) {
  at.began = now;
  at.label = make_label(at);
  at.key = key_of(at);
  const auto& head = at.http.head();
  const auto to = find_route({.method = head.method(), .path = head.path()});
  at.where = to.where;
  // Invented methods share one label: a client must not be able to make series without end.
  const bool known = to.where != route::unknown && to.method_allowed;
  at.method = known ? std::string{head.method()} : "other";
  if (const auto why = closed_gate(at, to)) {
    auto response = error_response(*why);
    if (!to.method_allowed) response.fields.push_back({"Allow", std::string{to.allow}});
    return respond(at, exchange, std::move(response), now);
  }
  if (!is_work(to.where)) return serve_local(at, exchange, now);
  enter(at, exchange, now);
  if (at.holds_credit) return;
  if (config_.credits_leased && !known_full(now)) return want_credit({id, exchange});
  respond(at, exchange, error_response(queue_full()), now);
}

/// Why the request may not enter, in the order in which a stranger may learn it.
std::optional<error> front_desk::closed_gate(const connection& at, const routing& to) const {
  if (!config_.api_keys.empty() && needs_api_key(to.where) && at.key == 0) {
    return error{error_kind::bad_request, "invalid_api_key", "",
                 "An API key is needed: send it as 'Authorization: Bearer KEY'."};
  }
  if (to.where == route::unknown) return no_such_route();
  if (!to.method_allowed) {
    return error{error_kind::bad_request, "method_not_allowed", "",
                 fmt::format("This path takes {} only.", to.allow)};
  }
  if (!is_work(to.where)) return std::nullopt;
  if (draining_ || state_.phase == engine_phase::draining) {
    return error{error_kind::unavailable, "draining", "", "The server is shutting down."};
  }
  if (state_.phase != engine_phase::serving) {
    return error{error_kind::unavailable, std::string{to_string(state_.phase)}, "",
                 "The model is not ready."};
  }
  if (const auto type = at.http.head().find("content-type"); type && !is_json_type(*type)) {
    return error{error_kind::bad_request, "unsupported_media_type", "",
                 "The body must be JSON: send 'Content-Type: application/json'."};
  }
  return std::nullopt;
}

std::uint32_t front_desk::key_of(const connection& at) const {
  const auto& head = at.http.head();
  std::string_view given = head.find("x-api-key").value_or("");
  if (const auto bearer = head.find("authorization")) {
    constexpr std::string_view scheme = "bearer ";
    const bool matches =
        bearer->size() > scheme.size() &&
        std::ranges::equal(bearer->substr(0, scheme.size()), scheme,
                           [](char a, char b) { return (a | 0x20) == (b | 0x20); });
    if (matches) given = bearer->substr(scheme.size());
  }
  if (given.empty()) return 0;
  std::uint32_t found = 0;
  std::uint32_t number = 0;
  for (const auto& key : config_.api_keys) {
    ++number;
    if (same_key({given, key})) found = number;
  }
  return found;
}

std::string front_desk::make_label(const connection& at) {
  const auto given = at.http.head().find("x-request-id");
  if (given && is_label(*given)) return std::string{*given};
  return "req-" + random_series{config_.label_seed}.draw(++labels_made_).name;
}

// ---- answers of our own ------------------------------------------------------------------------

void front_desk::serve_local(connection& at, exchange_id exchange, time_point now) {
  if (at.where == route::reset_prefix_cache) {
    orders_.push_back({.what = desk_order::kind::reset_prefix_cache});
    return respond(at, exchange, {.content_type = "", .body = ""}, now);
  }
  if (at.where == route::abort_request) return serve_abort(at, exchange, now);
  respond(at, exchange, local_answer(at.where, now), now);
}

http_response front_desk::local_answer(route where, time_point now) const {
  switch (where) {
    case route::models: return {.body = config_.models_body};
    case route::version: return {.body = config_.version_body};
    case route::metrics: {
      metrics all = counters_;
      for (const auto& [source, values] : others_) all.merge(*values);
      return {.content_type = metrics_content_type,
              .body = metrics_text(all, config_.common_labels)};
    }
    default: break;
  }
  if (healthy(state_, now)) return {.content_type = "", .body = ""};
  const bool stuck = state_.phase == engine_phase::serving;
  return error_response(
      error{error_kind::unavailable, stuck ? "stuck" : std::string{to_string(state_.phase)}, "",
            stuck ? "Work is waiting and no step has come back." : "The model is not ready."});
}

void front_desk::respond(connection& at, exchange_id exchange, http_response response,
                         time_point now) {
  const auto status = response.status;
  release_credit(at);
  add_own_fields(at, response, now);
  if (at.http.respond(exchange, response, now)) note_finished(at, status, now);
}

/// What every answer to a request that was read has: its name, and how long it took until here.
void front_desk::add_own_fields(const connection& at, http_response& response, time_point now) {
  if (at.label.empty()) return;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(now - at.began);
  response.fields.push_back({"x-request-id", at.label});
  response.fields.push_back({"openai-processing-ms", std::to_string(took.count())});
}

const front_desk::finished_series& front_desk::series_of(const connection& at, int status) {
  const auto same = [&](const finished_series& known) {
    return known.where == at.where && known.status_class == status / 100 &&
           known.method == at.method;
  };
  const auto found = std::ranges::find_if(finished_, same);
  if (found != finished_.end()) return *found;
  const std::string handler{route_label(at.where)};
  const auto requests = counters_.series(
      metric::http_requests,
      {{"method", at.method}, {"status", fmt::format("{}xx", status / 100)}, {"handler", handler}});
  const auto duration = counters_.series(metric::http_request_duration,
                                         {{"method", at.method}, {"handler", handler}});
  return finished_.emplace_back(
      finished_series{at.where, status / 100, at.method, requests, duration});
}

void front_desk::note_finished(const connection& at, int status, time_point now) {
  const auto& places = series_of(at, status);
  counters_.add(places.requests);
  counters_.observe(places.duration, std::chrono::duration<double>(now - at.began).count());
  orders_.push_back({.what = desk_order::kind::finished,
                     .request = at.request.value_or(request_id{}),
                     .where = at.where,
                     .status = status,
                     .took = now - at.began,
                     .label = at.label});
}

// ---- the engine's answers ----------------------------------------------------------------------

void front_desk::start_work(connection_id id, connection& at, exchange_id exchange) {
  const request_id request{next_request_};
  next_request_ += config_.request_stride;
  at.request = request;
  at.holds_credit = false;  // the request holds it now
  requests_.emplace(
      request,
      open_request{.at = id, .exchange = exchange, .abort = {at.label, at.key}, .began = at.began});
  orders_.push_back({.what = desk_order::kind::prepare,
                     .connection = id,
                     .request = request,
                     .bytes = at.http.take_body(),
                     .where = at.where,
                     .label = at.label,
                     .fairness_key = config_.api_keys.size() > 1 ? fmt::format("key {}", at.key)
                                                                 : std::string{}});
}

/// The client of the request in work has left, or never sent all of it.
void front_desk::client_gone(connection& at) {
  release_credit(at);
  if (!at.request) return;
  const auto request = requests_.find(*at.request);
  at.request.reset();
  if (request == requests_.end()) return;
  request->second.gone = true;
  cancel(request->first, request->second, cancel_reason::gone);
}

/// A cancel may overtake the request it means, and is then lost. The first piece of an answer
/// proves that the engine knows the request: one cancel from then on is enough.
void front_desk::cancel(request_id request, open_request& open, cancel_reason reason) {
  if (std::exchange(open.cancel_found, open.known)) return;
  orders_.push_back({.what = desk_order::kind::cancel, .request = request, .reason = reason});
}

void front_desk::end_request(request_id request) {
  if (requests_.erase(request) > 0) free_credit();
}

void front_desk::refuse(request_id request, const error& why, time_point now) {
  const auto open = requests_.find(request);
  if (open == requests_.end()) return;
  const auto at = connections_.find(open->second.at);
  if (!open->second.gone && at != connections_.end()) {
    auto& connection = at->second;
    if (connection.http.streaming(open->second.exchange)) {
      connection.http.break_off(open->second.exchange);
      note_finished(connection, 500, now);
    } else {
      respond(connection, open->second.exchange, error_response(why), now);
    }
    connection.request.reset();
    end_request(request);
    return obey(at->first, connection, now);
  }
  end_request(request);
}

void front_desk::answer(std::span<const answer_piece> pieces, time_point now) {
  for (const auto& piece : pieces) {
    const auto open = requests_.find(piece.request);
    if (open == requests_.end()) {
      windows_.insert(windows_.end(), piece.stands_for.begin(), piece.stands_for.end());
      continue;
    }
    auto& asked = open->second;
    asked.known = true;
    if (!piece.last && (asked.gone || asked.ends)) {
      cancel(piece.request, asked, asked.ends.value_or(cancel_reason::gone));
    }
    const auto at = asked.gone ? connections_.end() : connections_.find(asked.at);
    if (at != connections_.end()) {
      deliver(piece, at->first, at->second, now);
      continue;
    }
    // Nobody reads.
    windows_.insert(windows_.end(), piece.stands_for.begin(), piece.stands_for.end());
    if (piece.last) end_request(piece.request);
  }
}

void front_desk::deliver(const answer_piece& piece, connection_id id, connection& at,
                         time_point now) {
  const auto exchange = requests_.at(piece.request).exchange;
  at.last_bytes = now;
  GLIMMER_ASSERT(piece.stream || piece.last || piece.bytes.empty(),
                 "the bytes of a unary answer come at once");
  if (!piece.stream && piece.last) {
    respond(at, exchange, {.body = piece.bytes}, now);
  } else if (piece.stream) {
    if (!at.http.streaming(exchange)) {
      auto head = event_stream_response();
      add_own_fields(at, head, now);
      at.http.start_stream(exchange, head);
    }
    if (!piece.bytes.empty()) at.http.stream(exchange, piece.bytes);
    if (piece.last && piece.broken) at.http.break_off(exchange);
    if (piece.last && !piece.broken) at.http.end_stream(exchange, now);
    if (piece.last) note_finished(at, piece.broken ? 500 : 200, now);
  }
  flush(id, at);
  for (const auto& taken : piece.stands_for) at.marks.push_back({at.queued, taken});
  if (piece.last) {
    at.request.reset();
    end_request(piece.request);
  }
  obey(id, at, now);
}

void front_desk::metrics_changed(std::uint32_t source, std::shared_ptr<const metrics> values) {
  others_[source] = std::move(values);
}

void front_desk::connections_refused(std::uint64_t total) {
  const auto more = total - std::exchange(connections_refused_, total);
  counters_.add(counters_.series(metric::connections_refused), static_cast<double>(more));
}

void front_desk::drain(time_point now) {
  draining_ = true;
  std::vector<connection_id> ids;
  for (const auto& [id, at] : connections_) ids.push_back(id);
  for (const auto id : ids) {
    connections_.at(id).http.drain(now);
    obey(id, connections_.at(id), now);
  }
}

std::vector<desk_order> front_desk::take_orders() {
  if (orders_.empty()) return {};  // keeps the room
  auto out = std::exchange(orders_, {});
  orders_.reserve(out.size());
  return out;
}

std::vector<sequence_tokens_taken> front_desk::take_windows() {
  return std::exchange(windows_, {});
}

}  // namespace glimmer
