#include "bench/figure.hpp"

#include <fmt/format.h>
#include <time.h>

namespace glimmer {

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

figure_line::figure_line(figure_name name)
    : text_(fmt::format(R"({{"bench": "{}", "case": "{}")", name.bench, name.subject)) {}

figure_line& figure_line::add(std::string_view figure, double value) {
  text_ += fmt::format(R"(, "{}": {:.4g})", figure, value);
  return *this;
}

void figure_line::print() const {
  fmt::print("{}}}\n", text_);
}

}  // namespace glimmer
