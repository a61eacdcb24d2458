#include "protocol/http_connection.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace glimmer {
namespace {

/// A body must keep this pace on average, beside the pause allowed between two reads; else one
/// byte a minute would hold an admission credit for days.
constexpr std::uint64_t body_bytes_per_second_min = 1024;

/// Space reserved for a body on the client's word alone.
constexpr std::uint64_t body_reserve_max = 1 << 20;

duration milliseconds(std::uint32_t count) {
  return std::chrono::milliseconds{count};
}

/// Empties a string and gives its memory back, which `clear` and assignment do not.
void release(std::string& text) {
  std::string{}.swap(text);
}

}  // namespace

http_connection::http_connection(const limits& bounds, http_connection_options options,
                                 time_point now)
    : bounds_{bounds}, options_{options}, parser_{bounds}, draining_{options.one_request} {
  deadline_ = now + milliseconds(bounds_.idle_timeout_ms);
}

// ---- what happened on the socket ---------------------------------------------------------------

void http_connection::feed(std::string_view bytes, time_point now) {
  if (phase_ == phase::closed) return;
  if (phase_ == phase::linger) {
    discarded_ += bytes.size();
    if (discarded_ > bounds_.http_discard_bytes) give_up();
    return;
  }
  if (held().empty()) {
    consume(bytes, now);
    if (phase_ != phase::closed && phase_ != phase::linger) held_ += bytes;
  } else {
    held_ += bytes;
    consume_held(now);
  }
}

void http_connection::input_ended(time_point now) {
  input_ended_ = true;
  switch (phase_) {
    case phase::idle:
    case phase::header:
    case phase::discard: begin_linger(now); break;
    case phase::linger:
      if (flushed_) give_up();
      break;
    case phase::body: give_up(); break;
    case phase::gate:
    case phase::work:
      if (!options_.half_close_ok) give_up();
      break;
    case phase::closed: break;
  }
}

void http_connection::lost() {
  if (phase_ != phase::closed) give_up();
}

void http_connection::flushed(time_point now) {
  flushed_ = true;
  if (phase_ == phase::linger && input_ended_) give_up();
  // A slow reader of the last answer is not idle.
  if (phase_ == phase::idle) deadline_ = now + milliseconds(bounds_.idle_timeout_ms);
  if (phase_ == phase::linger) deadline_ = now + milliseconds(bounds_.linger_timeout_ms);
}

void http_connection::tick(time_point now) {
  if (!deadline_ || now < *deadline_) return;
  deadline_.reset();
  switch (phase_) {
    case phase::header:
      refuse_request({408, "request_timeout", "the request's header did not arrive in time"});
      break;
    case phase::body:
      refuse_request({408, "request_timeout", "the request's body did not arrive in time"});
      break;
    case phase::idle:
    case phase::discard:
    case phase::linger: give_up(); break;
    case phase::gate:
    case phase::work:
    case phase::closed: break;
  }
}

void http_connection::drain(time_point now) {
  draining_ = true;
  // Who has just connected may have sent a request that is still to be read: it is answered.
  const bool fresh = current_ == exchange_id{};
  if (phase_ == phase::idle && !fresh) begin_linger(now);
}

// ---- what to do about it -----------------------------------------------------------------------

std::optional<http_action> http_connection::next_action() {
  if (actions_.empty()) return std::nullopt;
  auto action = std::move(actions_.front());
  actions_.erase(actions_.begin());
  return action;
}

void http_connection::clear_output() {
  constexpr std::size_t kept_capacity = 64 << 10;
  output_.clear();
  if (output_.capacity() > kept_capacity) output_.shrink_to_fit();
}

bool http_connection::wants_read() const {
  return held().size() < bounds_.http_read_ahead_bytes;
}

void http_connection::act(http_action::kind what) {
  actions_.push_back({.what = what, .exchange = current_, .refusal = {}});
}

// ---- parsing -----------------------------------------------------------------------------------

void http_connection::consume(std::string_view& bytes, time_point now) {
  for (;;) {
    const bool parses = phase_ == phase::idle || phase_ == phase::header || phase_ == phase::body ||
                        phase_ == phase::discard;
    if (!parses) return;
    const auto event = parser_.next(bytes);
    on_event(event, now);
    if (event == http_event::need_more) return;
  }
}

void http_connection::consume_held(time_point now) {
  auto left = held();
  consume(left, now);
  if (phase_ == phase::linger || phase_ == phase::closed) return;  // dropped already
  held_done_ = held_.size() - left.size();
  // Moving the rest to the front for each of many small requests would cost their number squared.
  if (held_done_ * 2 < held_.size()) return;
  held_.erase(0, held_done_);
  held_done_ = 0;
}

void http_connection::drop_held() {
  release(held_);
  held_done_ = 0;
}

void http_connection::on_event(http_event event, time_point now) {
  switch (event) {
    case http_event::need_more:
      if (phase_ == phase::idle && parser_.started()) {
        phase_ = phase::header;
        deadline_ = now + milliseconds(bounds_.header_timeout_ms);
      }
      if (input_ended_ && phase_ == phase::body) give_up();
      if (input_ended_ && phase_ != phase::closed) begin_linger(now);
      break;
    case http_event::head:
      phase_ = phase::gate;
      deadline_.reset();
      ++current_.value;
      owner_holds_ = true;
      act(http_action::kind::ask_gate);
      break;
    case http_event::body: on_body(now); break;
    case http_event::complete: on_complete(now); break;
    case http_event::refused:
      if (phase_ == phase::discard) {
        begin_linger(now);
      } else {
        refuse_request(parser_.refusal());
      }
      break;
  }
}

void http_connection::on_body(time_point now) {
  body_read_ += parser_.data().size();
  if (phase_ == phase::body) body_ += parser_.data();
  set_body_deadline(now);
}

void http_connection::on_complete(time_point now) {
  if (phase_ == phase::discard) return begin_next_request(now);
  phase_ = phase::work;
  deadline_.reset();
  act(http_action::kind::request);
}

void http_connection::set_body_deadline(time_point now) {
  const auto pause = milliseconds(bounds_.body_timeout_ms);
  const auto paced = std::chrono::seconds{body_read_ / body_bytes_per_second_min};
  deadline_ = std::min(now + pause, body_began_ + pause + paced);
}

/// The client is at fault: the owner renders an answer, after which the connection ends.
void http_connection::refuse_request(http_refusal why) {
  if (phase_ == phase::idle || phase_ == phase::header) ++current_.value;
  phase_ = phase::work;
  deadline_.reset();
  owner_holds_ = false;
  close_after_ = true;
  release(body_);
  actions_.push_back(
      {.what = http_action::kind::refuse, .exchange = current_, .refusal = std::move(why)});
}

// ---- the exchange in work ----------------------------------------------------------------------

bool http_connection::is_current(exchange_id exchange) const {
  return exchange == current_ &&
         (phase_ == phase::gate || phase_ == phase::body || phase_ == phase::work);
}

std::string http_connection::take_body() {
  return std::exchange(body_, {});
}

void http_connection::accept(exchange_id exchange, time_point now) {
  if (!is_current(exchange)) return;
  GLIMMER_ASSERT(phase_ == phase::gate, "a request is accepted once, at the gate");
  phase_ = phase::body;
  body_began_ = now;
  body_read_ = 0;
  set_body_deadline(now);
  body_.reserve(static_cast<std::size_t>(std::min(head().content_length(), body_reserve_max)));
  if (head().expects_continue() && held().empty()) output_ += http_continue;
  consume_held(now);
}

bool http_connection::respond(exchange_id exchange, const http_response& response, time_point now) {
  if (!is_current(exchange)) return false;
  GLIMMER_ASSERT(!streaming_, "a request is answered once");
  settle_keep_alive();
  append_response_head(output_, response,
                       {.what = http_body_framing::kind::sized,
                        .size = response.body.size(),
                        .keep_alive = !close_after_,
                        .minor_version = head().minor_version()});
  if (!head().is_head()) output_ += response.body;
  finish_response(now);
  return true;
}

bool http_connection::start_stream(exchange_id exchange, const http_response& response) {
  if (!is_current(exchange)) return false;
  GLIMMER_ASSERT(phase_ == phase::work, "a stream starts when the request is whole");
  GLIMMER_ASSERT(!streaming_ && response.body.empty(), "a stream starts once, without a body");
  chunked_ = head().minor_version() >= 1;
  if (!chunked_) close_after_ = true;
  settle_keep_alive();
  append_response_head(
      output_, response,
      {.what = chunked_ ? http_body_framing::kind::chunked : http_body_framing::kind::until_close,
       .size = 0,
       .keep_alive = !close_after_,
       .minor_version = head().minor_version()});
  streaming_ = true;
  return true;
}

bool http_connection::stream(exchange_id exchange, std::string_view bytes) {
  if (!streaming(exchange)) return false;
  if (bytes.empty() || head().is_head()) return true;
  if (chunked_) {
    append_chunk(output_, bytes);
  } else {
    output_ += bytes;
  }
  return true;
}

bool http_connection::end_stream(exchange_id exchange, time_point now) {
  if (!streaming(exchange)) return false;
  if (chunked_ && !head().is_head()) append_last_chunk(output_);
  finish_response(now);
  return true;
}

void http_connection::break_off(exchange_id exchange) {
  if (!is_current(exchange)) return;
  owner_holds_ = false;
  give_up();
}

/// Decides, before a head goes out, whether another request may follow. The rest of an unwanted
/// body is read over when it is known to be short; a client that waits for "100 Continue" may or
/// may not send it, so nobody could tell where the next request begins.
void http_connection::settle_keep_alive() {
  if (!head().keep_alive() || draining_) close_after_ = true;
  if (input_ended_ && held().empty()) close_after_ = true;
  if (phase_ == phase::work) return;
  const auto left = parser_.body_left();
  if (!left || *left > bounds_.http_discard_bytes) close_after_ = true;
  if (phase_ == phase::gate && head().expects_continue()) close_after_ = true;
}

void http_connection::finish_response(time_point now) {
  streaming_ = false;
  owner_holds_ = false;
  release(body_);
  if (close_after_ || (input_ended_ && held().empty())) return begin_linger(now);
  if (phase_ == phase::work) {
    begin_next_request(now);
  } else {
    phase_ = phase::discard;
    body_began_ = now;
    body_read_ = 0;
    set_body_deadline(now);
  }
  consume_held(now);
}

void http_connection::begin_next_request(time_point now) {
  parser_.reset();
  phase_ = phase::idle;
  deadline_ = now + milliseconds(bounds_.idle_timeout_ms);
  if (draining_) begin_linger(now);
}

void http_connection::begin_linger(time_point now) {
  phase_ = phase::linger;
  deadline_ = now + milliseconds(bounds_.idle_timeout_ms);  // shorter once all is flushed
  flushed_ = false;
  drop_held();
  act(http_action::kind::shut_down);
}

void http_connection::give_up() {
  phase_ = phase::closed;
  deadline_.reset();
  drop_held();
  release(body_);
  streaming_ = false;
  if (std::exchange(owner_holds_, false)) act(http_action::kind::cancel);
  act(http_action::kind::close);
}

}  // namespace glimmer
