#include "parsers/invoke_scanner.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "parsers/header.hpp"
#include "parsers/markup.hpp"

namespace glimmer {

namespace {

/// A prefixed opener needs its prefixed closer.
struct opener {
  bool prefixed = false;
  bool closed_by(const markup_tag& closer) const { return closer.prefixed || !prefixed; }
};

/// `text` without the line end it may begin with.
std::string without_newline(std::string_view text) {
  if (text.starts_with("\r\n")) text.remove_prefix(1);
  if (text.starts_with('\n')) text.remove_prefix(1);
  return std::string{text};
}

/// Walks one body from tag to tag.
class scanner {
 public:
  scanner(const markup& marks, const body_context& context) : marks_{marks}, context_{context} {}

  scanned_body run();

 private:
  struct value_span {
    tool_body::range text;
    std::size_t next = 0;
  };

  std::optional<std::size_t> read_invoke(std::size_t at, const markup_tag& tag);
  bool read_parameter(const markup_tag& tag, raw_invoke& call, std::size_t& at);
  std::optional<value_span> find_value(const markup_tag& tag) const;
  void complete(raw_invoke call, std::size_t end);
  void name_invoke(const markup_tag& tag, raw_invoke& call);

  bool follows_parameter(std::size_t at) const;
  bool follows_invoke(std::size_t at) const;
  bool follows_block(std::size_t at) const;
  bool opens_next_call(const markup_tag& tag, tool_body::range between) const;
  bool resolves(const markup_tag& tag) const;
  bool ended() const { return context_.end == body_end::closed; }

  const markup& marks_;
  const body_context& context_;
  scanned_body out_;
  opener block_;
  opener invoke_;
  std::string_view glued_key_;  // a parameter whose opener was swallowed by the invoke's name
  bool block_open_ = false;     // a call was read and its block's closer not yet
};

scanned_body scanner::run() {
  std::size_t at = 0;
  while (true) {
    const std::size_t angle = marks_.next_angle(at);
    if (angle == marks_.size()) break;
    const std::optional<markup_tag> tag = marks_.tag_at(angle);
    at = tag ? tag->end : angle + 1;
    if (!tag) continue;
    switch (tag->kind) {
      case tag_kind::calls_open: block_ = {tag->prefixed}; break;
      case tag_kind::calls_close:
        out_.block_end = tag->end;
        if (std::exchange(block_open_, false)) out_.rest_begin = tag->end;
        block_ = {};
        break;
      case tag_kind::invoke_open:
        if (const auto next = read_invoke(angle, *tag)) {
          at = *next;
          break;
        }
        out_.rest_end = angle;
        return std::move(out_);
      default: break;
    }
  }
  out_.rest_end = marks_.size();
  return std::move(out_);
}

/// Reads one invoke and returns where to go on; nullopt when a parameter never closes or the
/// output was cut inside.
std::optional<std::size_t> scanner::read_invoke(std::size_t at, const markup_tag& tag) {
  raw_invoke call;
  out_.has_opener = true;
  invoke_ = {tag.prefixed};
  name_invoke(tag, call);
  std::size_t settled = tag.end;  // behind the last tag that counted
  at = tag.end;
  while (true) {
    const std::size_t angle = marks_.next_angle(at);
    if (angle == marks_.size()) {
      if (!ended() || !marks_.is_blank_run({settled, angle})) return std::nullopt;
      complete(std::move(call), angle);
      return angle;
    }
    const std::optional<markup_tag> next = marks_.tag_at(angle);
    at = next ? next->end : angle + 1;
    if (!next) continue;
    switch (next->kind) {
      case tag_kind::parameter_open:
        if (next->name.empty()) break;
        if (!read_parameter(*next, call, at)) return std::nullopt;
        settled = at;
        break;
      case tag_kind::parameter_close:
        if (glued_key_.empty() || !follows_parameter(at)) break;
        call.parameters.push_back({std::string{std::exchange(glued_key_, {})},
                                   without_newline(marks_.text({tag.end, angle}))});
        settled = at;
        break;
      case tag_kind::invoke_close:
        if (!invoke_.closed_by(*next)) break;
        complete(std::move(call), at);
        return at;
      case tag_kind::calls_close:
        if (!ended() || !block_.closed_by(*next)) break;
        complete(std::move(call), angle);
        return angle;
      case tag_kind::invoke_open:
        if (ended() && marks_.is_blank_run({settled, angle})) complete(std::move(call), angle);
        return angle;
      case tag_kind::calls_open: break;
    }
  }
}

void scanner::complete(raw_invoke call, std::size_t end) {
  out_.invokes.push_back(std::move(call));
  out_.rest_begin = end;
  block_open_ = true;
}

/// The tag decides; the recipient steps in when the tag has no name or a damaged one.
void scanner::name_invoke(const markup_tag& tag, raw_invoke& call) {
  glued_key_ = {};
  call.name = tag.name;
  if (const auto match = context_.tools->resolve(tag.name); match.tool != nullptr) {
    if (declares_parameter(*match.tool, match.rest)) glued_key_ = match.rest;
    call.tool = match.tool;
  } else if ((tag.name.empty() || tag.corrupted) && !context_.recipient.empty()) {
    call.tool = context_.tools->resolve(context_.recipient).tool;
    call.name = context_.recipient;
  }
  if (call.tool != nullptr) call.name = call.tool->name;
}

bool scanner::read_parameter(const markup_tag& tag, raw_invoke& call, std::size_t& at) {
  glued_key_ = {};
  const std::optional<value_span> value = find_value(tag);
  if (!value) return false;
  call.parameters.push_back({tag.name, std::string{marks_.text(value->text)}});
  at = value->next;
  return true;
}

/// From the end of a parameter's tag to the first closer that counts.
std::optional<scanner::value_span> scanner::find_value(const markup_tag& tag) const {
  const opener parameter{tag.prefixed};
  for (std::size_t at = marks_.next_angle(tag.end); at < marks_.size();
       at = marks_.next_angle(at + 1)) {
    const std::optional<markup_tag> closer = marks_.closer_at(at);
    if (!closer || closer->kind != tag_kind::parameter_close) continue;
    if (!parameter.closed_by(*closer) || !follows_parameter(closer->end)) continue;
    return value_span{{tag.end, at}, closer->end};
  }
  return std::nullopt;
}

// ------------------------------------------------------------------------ what may follow closers

bool scanner::follows_parameter(std::size_t at) const {
  at = marks_.skip_blanks(at);
  if (at == marks_.size()) return ended();
  const std::optional<markup_tag> tag = marks_.tag_at(at);
  if (!tag) return false;
  switch (tag->kind) {
    case tag_kind::parameter_open: return !tag->name.empty();
    case tag_kind::invoke_close: return invoke_.closed_by(*tag) && follows_invoke(tag->end);
    case tag_kind::calls_close: return ended() && block_.closed_by(*tag) && follows_block(tag->end);
    default: return false;
  }
}

bool scanner::follows_invoke(std::size_t at) const {
  const std::size_t angle = marks_.next_angle(at);
  if (angle == marks_.size()) return true;
  if (!ended() && marks_.ends_in_calls_closer(angle)) return true;
  const std::optional<markup_tag> tag = marks_.tag_at(angle);
  if (!tag) return false;
  if (tag->kind == tag_kind::calls_close) {
    return block_.closed_by(*tag) && follows_block(tag->end);
  }
  return opens_next_call(*tag, {at, angle});
}

bool scanner::follows_block(std::size_t at) const {
  const std::size_t angle = marks_.next_angle(at);
  if (angle == marks_.size()) return true;
  const std::optional<markup_tag> tag = marks_.tag_at(angle);
  return tag && opens_next_call(*tag, {at, angle});
}

/// Behind other text than blanks an invoke must name a declared tool.
bool scanner::opens_next_call(const markup_tag& tag, tool_body::range between) const {
  if (tag.kind == tag_kind::calls_open) return true;
  return tag.kind == tag_kind::invoke_open && (marks_.is_blank_run(between) || resolves(tag));
}

bool scanner::resolves(const markup_tag& tag) const {
  if (context_.tools->resolve(tag.name).tool != nullptr) return true;
  const bool unnamed = tag.name.empty() || tag.corrupted;
  return unnamed && context_.tools->resolve(context_.recipient).tool != nullptr;
}

}  // namespace

scanned_body scan_invokes(const tool_body& body, const body_context& context) {
  const markup marks{body, body.text.size()};
  return scanner{marks, context}.run();
}

bool holds_declared_calls(const scanned_body& found) {
  return !found.invokes.empty() &&
         std::all_of(found.invokes.begin(), found.invokes.end(),
                     [](const raw_invoke& call) { return call.tool != nullptr; });
}

bool ends_with_block(const tool_body& body, std::size_t bytes, const body_context& context) {
  const markup marks{body, bytes};
  return scanner{marks, context}.run().block_end == bytes;
}

}  // namespace glimmer
