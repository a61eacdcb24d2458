#include "bench/program/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "bench/figure.hpp"

namespace glimmer {
namespace {

constexpr std::size_t subject_width = 34;
constexpr std::size_t bar_width = 40;

std::size_t width_of(const std::string& column) {
  return std::max<std::size_t>(column.size(), 8) + 2;
}

}  // namespace

void report::row(std::string_view subject, const std::vector<figure>& figures) {
  if (how_ == form::table) return table_row(subject, figures);
  figure_line line{{.bench = bench_, .subject = subject}};
  for (const auto& f : figures) line.add(f.name, f.value);
  line.print();
  std::fflush(stdout);
}

void report::table_row(std::string_view subject, const std::vector<figure>& figures) {
  std::vector<std::string> columns;
  for (const auto& f : figures) columns.push_back(f.name);
  if (columns != columns_) {
    columns_ = columns;
    fmt::print("\n{:{}}", bench_, subject_width);
    for (const auto& name : columns_) fmt::print("{:>{}}", name, width_of(name));
    fmt::print("\n");
  }
  fmt::print("{:{}}", subject, subject_width);
  for (const auto& f : figures) fmt::print("{:>{}.4g}", f.value, width_of(f.name));
  fmt::print("\n");
  std::fflush(stdout);
}

progress_bar::progress_bar(std::size_t whole)
    : whole_{std::max<std::size_t>(whole, 1)}, terminal_{::isatty(STDERR_FILENO) != 0} {}

progress_bar::~progress_bar() {
  if (terminal_) fmt::print(stderr, "\r{:{}}\r", "", bar_width + 10);
}

void progress_bar::show(std::size_t done) {
  const auto filled = bar_width * std::min(done, whole_) / whole_;
  if (!terminal_ || (filled == shown_ && done != 0)) return;
  shown_ = filled;
  fmt::print(stderr, "\r[{:#<{}}{:{}}] {:3}%", "", filled, "", bar_width - filled,
             100 * std::min(done, whole_) / whole_);
  std::fflush(stderr);
}

}  // namespace glimmer
