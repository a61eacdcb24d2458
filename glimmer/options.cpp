#include "glimmer/options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "glimmer/config_file.hpp"
#include "glimmer/option_table.hpp"

namespace glimmer {
namespace {

const option_row* find_row(std::string_view name) {
  const auto table = option_table();
  const auto row = std::ranges::find(table, name, &option_row::name);
  return row == table.end() ? nullptr : &*row;
}

/// Letters to insert, delete or change until two names are equal (Levenshtein).
std::size_t edit_distance(std::string_view from, std::string to) {
  std::vector<std::size_t> line(to.size() + 1);
  for (std::size_t i = 0; i < line.size(); ++i) line[i] = i;
  for (std::size_t i = 0; i < from.size(); ++i) {
    auto diagonal = line[0];
    line[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const auto changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = line[j + 1];
      line[j + 1] = std::min({changed, line[j] + 1, line[j + 1] + 1});
    }
  }
  return line.back();
}

std::unexpected<error> refuse(std::string text) {
  return fail({error_kind::bad_request, "invalid_option", "", std::move(text)});
}

std::unexpected<error> unknown(std::string_view name) {
  const auto meant = closest_option(name);
  return refuse(fmt::format("--{} is not known{}", name,
                            meant ? fmt::format("; did you mean --{}?", *meant) : "; see --help"));
}

/// One flag of a command line with the values that follow it.
struct given_flag {
  std::string_view name;
  std::vector<std::string> values;
};

/// Splits `--flag value`, `--flag=value` and `--flag a b` (flags of many values).
result<std::vector<given_flag>> split(std::span<const std::string> arguments) {
  std::vector<given_flag> flags;
  std::string_view plain;
  for (std::size_t i = 0; i < arguments.size();) {
    std::string_view word = arguments[i++];
    if (!word.starts_with("--")) {
      if (word.starts_with('-') && word.size() > 1)
        return refuse(fmt::format("'{}' is no flag; flags begin with --", word));
      if (const auto first = std::exchange(plain, word); !first.empty()) {
        return refuse(fmt::format("'{}' and '{}' are both named as the model", first, word));
      }
      flags.push_back({"model", {std::string{word}}});
      continue;
    }
    word.remove_prefix(2);
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    const auto* row = find_row(name);
    if (row == nullptr) return unknown(name);
    given_flag flag{row->name, {}};
    if (equals != word.npos) flag.values.emplace_back(word.substr(equals + 1));
    const bool more = row->takes != option_row::arity::none && equals == word.npos;
    while (more && i < arguments.size() && !arguments[i].starts_with("--")) {
      flag.values.push_back(arguments[i++]);
      if (row->takes == option_row::arity::one) break;
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

/// The flag of many values whose last one looks like the MODEL behind it.
const given_flag* swallowed_model(const std::vector<given_flag>& flags) {
  for (const auto& flag : flags) {
    std::error_code unreadable;
    const bool many = find_row(flag.name)->takes == option_row::arity::many;
    if (many && flag.values.size() > 1 &&
        std::filesystem::is_directory(flag.values.back(), unreadable)) {
      return &flag;
    }
  }
  return nullptr;
}

/// What is said of drafting must have an effect.
result<void> check_drafter(const server_options& options) {
  if (!options.engine.drafter.model.empty()) {
    if (options.script.empty()) return {};
    return refuse("--executor script plays its turns without a draft head; leave one of them out");
  }
  for (const auto& [name, values] : options.given) {
    if (section_of(name) != "drafter") continue;
    return refuse(
        fmt::format("--{} has no effect without --drafter-model or --speculative-config", name));
  }
  return {};
}

}  // namespace

std::optional<std::string_view> closest_option(std::string_view name) {
  std::optional<std::string_view> best;
  auto distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const auto& row : option_table()) {
    const auto d = edit_distance(name, std::string{row.name});
    if (d >= distance) continue;
    distance = d;
    best = row.name;
  }
  return best;
}

std::string_view section_of(std::string_view name) {
  const auto* row = find_row(name);
  return row == nullptr ? std::string_view{} : row->section;
}

result<void> apply_option(server_options& options, std::string_view name,
                          std::span<const std::string> values) {
  const auto* row = find_row(name);
  if (row == nullptr) return unknown(name);
  if (row->takes == option_row::arity::none) {
    if (!values.empty() && values[0] == "false") {
      const auto opposite = fmt::format("no-{}", name);
      if (find_row(opposite) != nullptr) return apply_option(options, opposite, {});
      return refuse(fmt::format("--{} cannot be turned off", name));
    }
    if (!values.empty() && values[0] != "true") {
      return refuse(fmt::format("--{} takes no value, '{}' was given", name, values[0]));
    }
  } else if (values.empty()) {
    return refuse(fmt::format("--{} needs a value: {}", name, row->meaning));
  } else if (row->takes == option_row::arity::one && values.size() > 1) {
    return refuse(fmt::format("--{} takes one value, {} were given", name, values.size()));
  }
  if (auto done = row->apply(options, values); !done) {
    return refuse(fmt::format("--{}: {}", name, done.error().text));
  }
  options.given[std::string{name}] = {values.begin(), values.end()};
  return {};
}

result<server_options> parse_options(std::span<const std::string> arguments) {
  if (std::ranges::find(arguments, "--help") != arguments.end())
    return server_options{.help = true};
  if (std::ranges::find(arguments, "--version") != arguments.end()) {
    return server_options{.version = true};
  }
  // The config file is found first, so that every other flag can override it.
  std::vector<std::string> rest;
  server_options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view word = arguments[i];
    if (word != "--config" && !word.starts_with("--config=")) {
      rest.push_back(arguments[i]);
      continue;
    }
    const bool apart = word == "--config";
    if (apart && ++i == arguments.size()) return refuse("--config needs a value: a file");
    const auto file = apart ? arguments[i] : std::string{word.substr(std::size("--config=") - 1)};
    if (auto done = apply_config_file(options, file); !done) return fail(done.error());
  }
  const auto flags = split(rest);
  if (!flags) return fail(flags.error());
  for (const auto& flag : *flags) {
    if (auto done = apply_option(options, flag.name, flag.values); !done) return fail(done.error());
  }
  if (const auto taker = swallowed_model(*flags); taker && options.model.empty()) {
    return refuse(fmt::format("--{} took '{}', which is a folder; put MODEL in front of the flags",
                              taker->name, taker->values.back()));
  }
  if (const auto fine = check_drafter(options); !fine) return fail(fine.error());
  return options;
}

std::vector<std::string> settings_to_restart_for(const server_options& was,
                                                 const server_options& now) {
  std::vector<std::string> out;
  for (const auto& row : option_table()) {
    const auto before = was.given.find(row.name);
    const auto after = now.given.find(row.name);
    const bool had = before != was.given.end();
    const bool has = after != now.given.end();
    const bool same = had == has && (!had || before->second == after->second);
    if (!same && !row.live) out.emplace_back(row.name);
  }
  return out;
}

std::string options_help() {
  std::string out =
      "glimmerd [MODEL] [flags]    serve a Muse-Glimmer checkpoint through the OpenAI API\n"
      "  --config FILE             settings as in glimmerd.conf; flags win\n";
  std::string_view section;
  for (const auto& row : option_table()) {
    if (row.section != section && !row.section.empty()) {
      fmt::format_to(std::back_inserter(out), "\n{}\n", row.section);
    }
    section = row.section;
    const auto* takes = row.takes == option_row::arity::none  ? ""
                        : row.takes == option_row::arity::one ? " X"
                                                              : " X...";
    fmt::format_to(std::back_inserter(out), "  --{:<26} {}\n", fmt::format("{}{}", row.name, takes),
                   row.meaning);
  }
  return out;
}

}  // namespace glimmer
