#include "parsers/channel_splitter.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "parsers/header.hpp"
#include "parsers/invoke_scanner.hpp"

namespace glimmer {

namespace {

constexpr std::string_view self = "self";
constexpr std::string_view user = "user";
constexpr std::string_view markup_begin = "<atem:";

std::string lower_case(std::string_view text) {
  std::string out{text};
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Text between messages that could have become a header and did not: content, unless it is a
/// header's remains.
bool is_content(std::string_view bare_text) {
  const std::string_view text = trim_blanks(bare_text);
  return !text.empty() && text.find("to=") == text.npos && lower_case(text) != "assistant";
}

}  // namespace

channel_splitter::channel_splitter(std::shared_ptr<const tool_catalog> tools, turn_start start)
    : tools_{std::move(tools)} {
  if (start == turn_start::reasoning) open(channel::reasoning, self);
  if (start == turn_start::content) open(channel::content, user);
}

// ---------------------------------------------------------------------------------------- tokens

void channel_splitter::text(std::string_view text, events& out) {
  switch (place_) {
    case place::opening: return opening_text(text, out);
    case place::framed: return framed_text(text, out);
    case place::body: return body_text(text, out);
    case place::look_ahead: return look_ahead_text(text, out);
    case place::ended: return;
  }
}

void channel_splitter::special(special_kind kind, events& out) {
  if (ended()) return;
  switch (kind) {
    case special_kind::other: return count_token();
    case special_kind::start: return on_start(out);
    case special_kind::message: return on_message(out);
    case special_kind::eom: return end_message(body_end::closed, out);
    case special_kind::eot:
      end_message(body_end::closed, out);
      place_ = place::ended;
      return;
  }
}

void channel_splitter::finish(body_end how, events& out) {
  if (ended()) return;
  end_message(how, out);
  place_ = place::ended;
}

/// Ends whatever is open; an unfinished framed header is dropped and its body ends normally.
void channel_splitter::end_message(body_end how, events& out) {
  if (place_ == place::look_ahead) abandon_look_ahead(out);
  if (place_ == place::framed) {
    undecided_tokens_ = 0;
    how = body_end::closed;
  }
  settle_bare_text(how, out);
  close(how, out);
  place_ = place::opening;
}

// --------------------------------------------------------------------------------- outside bodies

void channel_splitter::opening_text(std::string_view text, events& out) {
  bare_ += text;
  if (match_header(bare_, header_place::bare).what == header_match::kind::none) {
    open_loose_text(out);
  }
}

/// What was held as a header is untagged content.
void channel_splitter::open_loose_text(events& out) {
  const std::string text = std::exchange(bare_, {});
  open(channel::untagged, {});
  body_text(text, out);
}

void channel_splitter::settle_bare_text(body_end how, events& out) {
  if (how == body_end::closed && is_content(bare_)) {
    open_loose_text(out);
    close(body_end::closed, out);
  }
  bare_.clear();
}

void channel_splitter::on_start(events& out) {
  if (place_ == place::look_ahead) abandon_look_ahead(out);
  if (place_ == place::framed) undecided_tokens_ = 0;
  if (place_ == place::body) {
    show(body_->tail.release(), out);
    settle_tokens();
  }
  count_token();
  framed_.clear();
  place_ = place::framed;
}

void channel_splitter::framed_text(std::string_view text, events& out) {
  framed_ += text;
  if (match_header(framed_, header_place::framed).what == header_match::kind::none) {
    abandon_frame(out);
  }
}

/// `<|start|>` opened no header: the marker is dropped (a tool message keeps its spelling) and the
/// text behind it goes on where it was.
void channel_splitter::abandon_frame(events& out) {
  const std::string text = std::exchange(framed_, {});
  if (!body_) {
    place_ = place::opening;
    return opening_text(text, out);
  }
  place_ = place::body;
  if (body_->collects()) body_->calls.add_marker(special_kind::start);
  body_text(text, out);
}

void channel_splitter::on_message(events& out) {
  switch (place_) {
    case place::opening: return bare_message(out);
    case place::framed: return framed_message(out);
    case place::body: return body_message(out);
    case place::look_ahead: abandon_look_ahead(out); return body_message(out);
    case place::ended: return;
  }
}

void channel_splitter::bare_message(events& out) {
  const header_match header = match_header(bare_, header_place::bare);
  if (header.what != header_match::kind::complete) return open_loose_text(out);
  const std::string recipient{header.recipient};
  bare_.clear();
  open_addressed(recipient);
}

void channel_splitter::framed_message(events& out) {
  const header_match header = match_header(framed_, header_place::framed);
  const bool foreign = header.what == header_match::kind::foreign;
  if (!foreign && header.what != header_match::kind::complete) {
    abandon_frame(out);
    return on_message(out);
  }
  const std::string recipient{header.recipient};
  end_message(body_end::closed, out);
  if (foreign) {
    foreign_ = true;
    place_ = place::ended;
  } else {
    open_addressed(recipient);
  }
}

// ---------------------------------------------------------------------------------- inside bodies

void channel_splitter::body_text(std::string_view text, events& out) {
  while (!text.empty()) {
    if (body_->collects()) {
      body_->calls.text += text;
      return;
    }
    std::string shown;
    text.remove_prefix(body_->tail.take(text, shown));
    show(std::move(shown), out);
    if (body_->tail.opener()) {
      body_->candidate = true;
      body_->calls.text = body_->tail.release();
    }
  }
}

/// `<|message|>` inside a body: the end of a bare header, or noise.
void channel_splitter::body_message(events& out) {
  count_token();
  if (body_->collects()) {
    if (!leave_collected_body(out)) body_->calls.add_marker(special_kind::message);
    return;
  }
  const std::optional<std::string_view> recipient = body_->tail.recipient();
  if (recipient && leave_text_body(std::string{*recipient}, out)) return;
  show(body_->tail.release(), out);
}

/// A bare header ends reasoning if it names a channel; if it names a tool, markup must follow. In
/// content only declared tools count: the rest are quotations.
bool channel_splitter::leave_text_body(const std::string& recipient, events& out) {
  const bool thinking = body_->to == channel::reasoning;
  if (recipient == self || recipient == user) {
    if (thinking) replace_body(recipient, out);
    return thinking;
  }
  if (!tools_->calls_allowed()) return false;
  if (!thinking && tools_->resolve(recipient).tool == nullptr) return false;
  place_ = place::look_ahead;
  ahead_matched_ = 0;
  return true;
}

/// A bare header right behind the closer of a block ends the message.
bool channel_splitter::leave_collected_body(events& out) {
  constexpr std::size_t reach = 2 * header_bytes_max;
  constexpr std::string_view closer = "function_calls>";
  const std::string_view text = body_->calls.text;
  const std::size_t window = text.size() - std::min(text.size(), reach);
  const std::size_t found = text.substr(window).rfind(closer);
  if (found == text.npos) return false;
  const std::size_t block_end = window + found + closer.size();

  body_tail header{{.headers = true}};
  std::string before;
  header.take(text.substr(block_end), before);
  const std::optional<std::string_view> recipient = header.recipient();
  if (!recipient || !trim_blanks(before).empty()) return false;

  const body_context context{tools_.get(), body_->recipient, body_end::closed};
  if (!ends_with_block(body_->calls, block_end, context)) return false;
  if (body_->candidate && !holds_declared_calls(scan_invokes(body_->calls, context))) return false;
  const std::string next{*recipient};
  body_->calls.text.resize(block_end);
  replace_body(next, out);
  return true;
}

/// Drops the bare header that is held, ends its body and opens the one it names.
void channel_splitter::replace_body(const std::string& recipient, events& out) {
  body_->tail.release();
  undecided_tokens_ = 0;
  close(body_end::closed, out);
  open_addressed(recipient);
}

void channel_splitter::look_ahead_text(std::string_view text, events& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool blank = ahead_matched_ == 0 && is_blank(text[i]);
    if (!blank && text[i] != markup_begin[ahead_matched_]) {
      abandon_look_ahead(out);
      return body_text(text.substr(i), out);
    }
    ahead_ += text[i];
    if (!blank && ++ahead_matched_ == markup_begin.size()) {
      replace_body(std::string{*body_->tail.recipient()}, out);
      body_text(std::exchange(ahead_, {}), out);
      return body_text(text.substr(i + 1), out);
    }
  }
}

/// The header was only mentioned: its text stays, its marker is dropped.
void channel_splitter::abandon_look_ahead(events& out) {
  place_ = place::body;
  show(body_->tail.release(), out);
  body_text(std::exchange(ahead_, {}), out);
}

// ---------------------------------------------------------------------------------------- bodies

void channel_splitter::open_addressed(const std::string& recipient) {
  if (recipient.empty()) return open(channel::untagged, recipient);
  if (recipient == self) return open(channel::reasoning, recipient);
  if (recipient == user) return open(channel::content, recipient);
  open(channel::tool, recipient);
}

void channel_splitter::open(channel to, std::string_view recipient) {
  GLIMMER_ASSERT(!body_, "one body is open at a time");
  const bool calls = tools_->calls_allowed();
  const body_tail::watch watch{.headers = to == channel::reasoning || calls,
                               .openers = to == channel::untagged && calls};
  body_ = open_body{};  // clang finds nothing to `emplace`: initialisers inside the class
  body_->to = to;
  body_->message = ++messages_;
  body_->recipient = recipient;
  body_->tail = body_tail{watch};
  place_ = place::body;
}

void channel_splitter::show(std::string text, events& out) {
  if (text.empty()) return;
  settle_tokens();
  channel_event event;
  event.to = body_->to;
  event.message = body_->message;
  event.text = std::move(text);
  out.push_back(std::move(event));
}

void channel_splitter::close(body_end how, events& out) {
  if (!body_) return;
  if (body_->collects()) {
    channel_event event;
    event.what =
        body_->candidate ? channel_event::kind::candidate : channel_event::kind::tool_message;
    event.to = body_->to;
    event.message = body_->message;
    event.recipient = std::move(body_->recipient);
    event.body = std::move(body_->calls);
    event.end = how;
    out.push_back(std::move(event));
  } else {
    show(body_->tail.release(), out);
    settle_tokens();
  }
  body_.reset();
}

void channel_splitter::count_token() {
  if (in_reasoning()) ++undecided_tokens_;
}

void channel_splitter::settle_tokens() {
  if (in_reasoning()) reasoning_tokens_ += undecided_tokens_;
  undecided_tokens_ = 0;
}

std::size_t channel_splitter::held_bytes() const {
  return bare_.size() + framed_.size() + ahead_.size() + (body_ ? body_->tail.held().size() : 0);
}

}  // namespace glimmer
