#include "bench/program/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace glimmer {
namespace {

bool is_switch(const known_flag& flag) {
  return flag.initial.empty() && flag.meaning.starts_with('!');
}

std::unexpected<error> refuse(std::string text) {
  return fail({error_kind::bad_request, "invalid_option", "", std::move(text)});
}

template <class Number>
bool reads_as(std::string_view text, Number& to) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), to);
  return code == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace

result<command_line> command_line::parse(std::span<const std::string> words,
                                         std::span<const known_flag> known) {
  command_line out;
  for (const auto& flag : known) out.values_[std::string{flag.name}] = flag.initial;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (!word.starts_with("--")) {
      out.plain_.emplace_back(word);
      continue;
    }
    word.remove_prefix(2);
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    const auto flag = std::ranges::find(known, name, &known_flag::name);
    if (flag == known.end()) return refuse(fmt::format("--{} is not known; see --help", name));
    auto& value = out.values_[std::string{name}];
    if (is_switch(*flag)) {
      if (equals != word.npos) return refuse(fmt::format("--{} takes no value", name));
      value = "true";
    } else if (equals != word.npos) {
      value = word.substr(equals + 1);
    } else if (++i < words.size()) {
      value = words[i];
    } else {
      return refuse(fmt::format("--{} needs a value: {}", name, flag->meaning));
    }
  }
  return out;
}

result<std::vector<std::uint32_t>> command_line::numbers(std::string_view flag) const {
  const std::string_view all = text(flag);
  std::vector<std::uint32_t> out;
  for (std::size_t at = 0; at <= all.size();) {
    const auto comma = std::min(all.find(',', at), all.size());
    std::uint32_t number = 0;
    if (!reads_as(all.substr(at, comma - at), number))
      return refuse(
          fmt::format("--{} is '{}'; whole numbers separated by commas belong there", flag, all));
    out.push_back(number);
    at = comma + 1;
  }
  return out;
}

result<std::uint32_t> command_line::number(std::string_view flag) const {
  std::uint32_t number = 0;
  if (reads_as(std::string_view{text(flag)}, number)) return number;
  return refuse(fmt::format("--{} is '{}'; a whole number belongs there", flag, text(flag)));
}

result<double> command_line::real(std::string_view flag) const {
  double number = 0;
  if (reads_as(std::string_view{text(flag)}, number) && number >= 0) return number;
  return refuse(
      fmt::format("--{} is '{}'; a number of at least 0 belongs there", flag, text(flag)));
}

std::string flags_help(std::span<const known_flag> known) {
  std::string out;
  for (const auto& flag : known) {
    const auto meaning = is_switch(flag) ? flag.meaning.substr(1) : flag.meaning;
    out += fmt::format("  --{:<24} {}{}\n", flag.name, meaning,
                       flag.initial.empty() ? "" : fmt::format(" ({})", flag.initial));
  }
  return out;
}

}  // namespace glimmer
