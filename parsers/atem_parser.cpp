#include "parsers/atem_parser.hpp"

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/json.hpp"
#include "base/random.hpp"
#include "parsers/header.hpp"
#include "parsers/invoke_scanner.hpp"
#include "parsers/partial_json.hpp"
#include "parsers/value_decoder.hpp"

namespace glimmer {

namespace {

/// The arguments of a call as a JSON object. A repeated parameter keeps its first place and takes
/// its last value.
std::string arguments_of(const raw_invoke& call) {
  std::vector<const raw_invoke::parameter*> members;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const raw_invoke::parameter& p : call.parameters) {
    const auto [place, fresh] = places.emplace(p.key, members.size());
    if (fresh) members.push_back(&p);
    members[place->second] = &p;
  }
  std::string out = "{";
  for (const raw_invoke::parameter* p : members) {
    if (out.size() > 1) out += ',';
    append_json_string(out, p->key);
    out += ':';
    append_value(out, p->value, {call.tool, p->key});
  }
  return out += '}';
}

/// `text` without the wrapper tags and blanks around it.
std::string_view unwrapped(std::string_view text) {
  text = trim_blanks(text);
  for (std::string_view opener : {"<atem:function_calls>", "<function_calls>"}) {
    if (text.starts_with(opener)) text.remove_prefix(opener.size());
  }
  for (std::string_view closer : {"</atem:function_calls>", "</function_calls>"}) {
    if (text.ends_with(closer)) text.remove_suffix(closer.size());
  }
  return trim_blanks(text);
}

/// Arguments written as a bare JSON object instead of markup.
std::optional<std::string> bare_arguments(const tool_body& body) {
  const std::string text = body.plain_text();
  const std::string_view arguments = unwrapped(text);
  const auto value = read_strict_json(arguments);
  if (!value || !value->is_object()) return std::nullopt;
  return std::string{arguments};
}

}  // namespace

std::string make_call_id(const call_id_key& key, std::uint32_t index) {
  constexpr std::string_view letters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr int draws = 4;
  constexpr int letters_per_draw = 6;  // from 128 bits: far less than they hold
  std::string id = "call_";
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  for (std::uint32_t draw = 0; draw < draws; ++draw) {
    const auto words =
        philox4x32({low(key.request), high(key.request), key.choice, index * draws + draw},
                   {low(key.process), high(key.process)});
    std::uint64_t bits = words[0] | std::uint64_t{words[1]} << 32;
    for (int i = 0; i < letters_per_draw; ++i, bits /= letters.size()) {
      id += letters[bits % letters.size()];
    }
  }
  return id;
}

atem_parser::atem_parser(std::shared_ptr<const tool_catalog> tools, options what)
    : tools_{std::move(tools)}, options_{what} {}

void atem_parser::push(channel_event&& event, std::vector<turn_event>& out) {
  switch (event.what) {
    case channel_event::kind::text: return text(std::move(event), out);
    case channel_event::kind::tool_message: return tool_message(event, out);
    case channel_event::kind::candidate: return candidate(std::move(event), out);
  }
}

void atem_parser::finish(body_end how, std::vector<turn_event>& out) {
  if (how == body_end::cut || !aside_ || content_.any || calls_ > 0) return;
  turn_event event;
  event.text = std::move(*aside_);
  content_.any = true;
  out.push_back(std::move(event));
}

/// Messages of one kind are joined with a newline, sent with the first text of the later one.
void atem_parser::text(channel_event&& event, std::vector<turn_event>& out) {
  if (event.text.empty()) return;
  const bool reasoning = event.to == channel::reasoning;
  joiner& join = reasoning ? reasoning_ : content_;
  const bool later = join.any && join.message != event.message;
  join = {event.message, true};
  turn_event& shown = out.emplace_back();
  shown.what = reasoning ? turn_event::kind::reasoning : turn_event::kind::content;
  shown.text = std::move(event.text);
  if (later) shown.text.insert(0, 1, '\n');
}

void atem_parser::tool_message(const channel_event& event, std::vector<turn_event>& out) {
  if (!tools_->calls_allowed()) return set_aside(event.body);
  const scanned_body found = scan_invokes(event.body, {tools_.get(), event.recipient, event.end});
  for (const raw_invoke& invoke : found.invokes) call(invoke.name, arguments_of(invoke), out);
  if (!found.invokes.empty()) return;

  const tool_definition* tool = tools_->resolve(event.recipient).tool;
  if (tool != nullptr && !found.has_opener) {
    if (auto arguments = bare_arguments(event.body)) {
      return call(tool->name, std::move(*arguments), out);
    }
  }
  set_aside(event.body);
}

/// Markup in an untagged message: calls if all of them are declared, else content.
void atem_parser::candidate(channel_event&& event, std::vector<turn_event>& out) {
  const scanned_body found = scan_invokes(event.body, {tools_.get(), {}, event.end});
  if (holds_declared_calls(found)) {
    for (const raw_invoke& invoke : found.invokes) call(invoke.name, arguments_of(invoke), out);
    event.text = event.body.plain_text({found.rest_begin, found.rest_end});
    if (trim_blanks(event.text).empty()) return;
  } else {
    event.text = event.body.plain_text();
  }
  text(std::move(event), out);
}

void atem_parser::call(std::string_view name, std::string arguments, std::vector<turn_event>& out) {
  if (!options_.parallel_calls && calls_ > 0) return;
  turn_event announced;
  announced.what = turn_event::kind::tool_call;
  announced.call_index = calls_;
  announced.call_id = make_call_id(options_.ids, calls_);
  announced.name = name;
  turn_event filled;
  filled.what = turn_event::kind::tool_arguments;
  filled.call_index = calls_;
  filled.text = std::move(arguments);
  out.push_back(std::move(announced));
  out.push_back(std::move(filled));
  ++calls_;
}

/// Shown at the end if the turn would be empty without it.
void atem_parser::set_aside(const tool_body& body) {
  const std::string text = body.plain_text();
  if (text.empty()) return;
  if (aside_) {
    (*aside_ += '\n') += text;
  } else {
    aside_ = text;
  }
}

}  // namespace glimmer
