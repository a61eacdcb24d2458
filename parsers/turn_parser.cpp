#include "parsers/turn_parser.hpp"

#include <utility>

namespace glimmer {

namespace {

bool is_text(const turn_event& event) {
  return event.what == turn_event::kind::content || event.what == turn_event::kind::reasoning;
}

/// Appends `event`, joined with the one before where both are text of one kind.
void append_event(std::vector<turn_event>& out, turn_event&& event) {
  if (!out.empty() && is_text(event) && out.back().what == event.what) {
    out.back().text += event.text;
  } else {
    out.push_back(std::move(event));
  }
}

}  // namespace

turn_parser::turn_parser(options what)
    : channels_{what.channels},
      splitter_{what.tools, what.start},
      calls_{std::move(what.tools), what.calls},
      stop_{std::move(what.stops), what.keep_stop} {}

void turn_parser::text(std::string_view text, std::vector<turn_event>& out) {
  splitter_.count_token();
  late_text(text, out);
}

void turn_parser::late_text(std::string_view text, std::vector<turn_event>& out) {
  if (ended()) return;
  if (channels_) {
    splitter_.text(text, sorted_);
    return parse(out);
  }
  turn_event event;
  event.text = text;
  parsed_.push_back(std::move(event));
  emit(out);
}

void turn_parser::special(special_kind kind, std::vector<turn_event>& out) {
  if (ended() || !channels_) return;
  splitter_.special(kind, sorted_);
  parse(out);
}

finish_reason turn_parser::finish(finish_reason how, std::vector<turn_event>& out) {
  const bool normal = how == finish_reason::stop;
  if (stop_.found().empty()) {
    const bool whole = normal || splitter_.ended();
    const body_end end = whole ? body_end::closed : body_end::cut;
    splitter_.finish(end, sorted_);
    parse(out);
    calls_.finish(end, parsed_);
    emit(out);
    flush_stop(out);
  }
  return normal && calls_.calls() > 0 ? finish_reason::tool_calls : how;
}

/// Channels to events, and on.
void turn_parser::parse(std::vector<turn_event>& out) {
  for (channel_event& event : sorted_) calls_.push(std::move(event), parsed_);
  sorted_.clear();
  emit(out);
}

/// Searches the content for stop strings; what comes behind one is dropped.
void turn_parser::emit(std::vector<turn_event>& out) {
  for (turn_event& event : parsed_) {
    if (!stop_.found().empty()) break;
    if (!stop_.searches()) {
      append_event(out, std::move(event));
      continue;
    }
    if (event.what == turn_event::kind::content) {
      std::string shown;
      stop_.push(event.text, shown);
      if (shown.empty()) continue;
      event.text = std::move(shown);
    } else {
      flush_stop(out);
    }
    append_event(out, std::move(event));
  }
  parsed_.clear();
}

/// No stop string came before the content was interrupted or ended: what was held is shown.
void turn_parser::flush_stop(std::vector<turn_event>& out) {
  turn_event event;
  stop_.flush(event.text);
  if (!event.text.empty()) append_event(out, std::move(event));
}

}  // namespace glimmer
