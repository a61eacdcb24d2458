#include "parsers/channel.hpp"

#include <algorithm>

namespace glimmer {

std::string_view spelling(special_kind kind) {
  switch (kind) {
    case special_kind::start: return "<|start|>";
    case special_kind::message: return "<|message|>";
    case special_kind::eom: return "<|eom|>";
    case special_kind::eot: return "<|eot|>";
    case special_kind::other: break;
  }
  return {};
}

void tool_body::add_marker(special_kind kind) {
  markers.push_back({text.size(), kind});
  text += spelling(kind);
}

std::string tool_body::plain_text(range part) const {
  std::string out;
  std::size_t from = part.begin;
  const std::size_t end = std::min(part.end, text.size());
  for (const marker& m : markers) {
    if (m.offset < from) continue;
    if (m.offset >= end) break;
    out.append(text, from, m.offset - from);
    from = m.offset + spelling(m.kind).size();
  }
  if (from < end) out.append(text, from, end - from);
  return out;
}

}  // namespace glimmer
