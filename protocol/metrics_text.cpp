#include "protocol/metrics_text.hpp"

#include <charconv>
#include <cmath>

namespace glimmer {
namespace {

void append_value(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    char digits[32];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }
}

void append_label_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    switch (c) {
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      case '\n': out += "\\n"; break;
      default: out += c;
    }
  }
}

/// All labels of one line; `bound` is the text of a bucket's "le", empty elsewhere.
struct line_labels {
  const metric_labels& shared;
  const metric_labels& own;
  std::string_view bound;
};

void append_labels(std::string& out, const line_labels& labels) {
  auto separator = '{';
  const auto append = [&](std::string_view name, std::string_view value) {
    out += separator;
    separator = ',';
    out += name;
    out += "=\"";
    append_label_value(out, value);
    out += '"';
  };
  for (const auto& [name, value] : labels.shared) append(name, value);
  for (const auto& [name, value] : labels.own) append(name, value);
  if (!labels.bound.empty()) append("le", labels.bound);
  if (separator == ',') out += '}';
}

class writer {
 public:
  writer(std::string& out, const metric_labels& shared) : out_{out}, shared_{shared} {}

  void family(const metric_definition& definition) {
    constexpr std::string_view kinds[] = {"counter", "gauge", "histogram"};
    out_.append("# HELP ").append(definition.name).append(" ").append(definition.help);
    out_.append("\n# TYPE ").append(definition.name).append(" ");
    out_.append(kinds[static_cast<std::size_t>(definition.kind)]).append("\n");
  }

  void series(const metric_definition& definition, const metric_series& s) {
    const bool is_shared = definition.name.starts_with("vllm:");
    const metric_labels& shared = is_shared ? shared_ : no_labels_;
    if (definition.kind != metric_kind::histogram) {
      return line(definition.name, "", {shared, s.labels, {}}, s.value);
    }
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < s.buckets.size(); ++i) {
      below += s.buckets[i];
      std::string bound;
      append_value(bound, definition.buckets[i]);
      line(definition.name, "_bucket", {shared, s.labels, bound}, static_cast<double>(below));
    }
    const auto all = static_cast<double>(s.observations);
    line(definition.name, "_bucket", {shared, s.labels, "+Inf"}, all);
    line(definition.name, "_sum", {shared, s.labels, {}}, s.value);
    line(definition.name, "_count", {shared, s.labels, {}}, all);
  }

 private:
  void line(std::string_view name, const char* suffix, const line_labels& labels, double value) {
    out_.append(name).append(suffix);
    append_labels(out_, labels);
    out_ += ' ';
    append_value(out_, value);
    out_ += '\n';
  }

  std::string& out_;
  const metric_labels& shared_;
  const metric_labels no_labels_;
};

}  // namespace

std::string metrics_text(const metrics& values, const metric_labels& shared) {
  std::string out;
  writer write{out, shared};
  for (std::size_t i = 0; i < static_cast<std::size_t>(metric::count); ++i) {
    const auto& definition = definition_of(static_cast<metric>(i));
    bool named = false;
    for (const auto& s : values.all()) {
      if (s.id != definition.id) continue;
      if (!named) write.family(definition);
      named = true;
      write.series(definition, s);
    }
  }
  return out;
}

}  // namespace glimmer
