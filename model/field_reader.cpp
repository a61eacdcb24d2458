#include "model/field_reader.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "model/config.hpp"

namespace glimmer {

void field_reader::refuse(std::string sentence) {
  if (!refused_) refused_ = checkpoint_error(file_, std::move(sentence));
}

std::optional<json> field_reader::find(std::string_view name) const {
  auto member = object_.find(name);
  return member && !member->is_null() ? member : std::nullopt;
}

void field_reader::require(std::string_view name) {
  if (!find(name)) refuse(std::string{name} + " is missing.");
}

void field_reader::count(std::string_view name, std::int64_t& to, std::int64_t least) {
  const auto member = find(name);
  if (!member) return;
  const auto value = member->is_number() ? member->integer() : std::nullopt;
  if (!value || *value < least || *value > std::numeric_limits<std::int32_t>::max()) {
    return refuse(std::string{name} + " must be a whole number from " + std::to_string(least) +
                  " to 2147483647.");
  }
  to = *value;
}

void field_reader::number(std::string_view name, float& to, bounds allowed) {
  const auto member = find(name);
  if (!member) return;
  const double value = member->is_number() ? member->number() : std::nan("");
  if (!(value > allowed.low && value <= allowed.high)) {
    return refuse(std::string{name} + " must be a number above " + shortest(allowed.low) +
                  " and at most " + shortest(allowed.high) + ".");
  }
  to = static_cast<float>(value);
}

void field_reader::token(std::string_view name, token_id& to) {
  std::int64_t value = to;
  count(name, value, 0);
  to = static_cast<token_id>(value);
}

void field_reader::tokens(std::string_view name, std::vector<token_id>& to) {
  const auto member = find(name);
  if (!member) return;
  to.clear();
  for (const auto& item : member->is_array() ? member->elements() : std::vector{*member}) {
    const auto id = item.is_number() ? item.integer() : std::nullopt;
    if (!id || *id < 0 || *id > std::numeric_limits<token_id>::max()) {
      return refuse(std::string{name} + " must be a token id or a list of token ids.");
    }
    to.push_back(static_cast<token_id>(*id));
  }
}

void field_reader::only(mechanism m) {
  const auto member = find(m.name);
  if (!member || (member->is_string() && member->string() == m.built)) return;
  const auto given = member->is_string() ? "\"" + std::string{member->string()} + "\""
                                         : std::string{to_string(member->type())};
  refuse(std::string{m.name} + " is " + given + "; only \"" + std::string{m.built} +
         "\" is supported.");
}

void field_reader::never(std::string_view name) {
  const auto member = find(name);
  if (!member || (member->is_boolean() && !member->boolean())) return;
  refuse(std::string{name} + " must be false; models with it are not supported.");
}

void field_reader::rope(float& theta) {
  // Scaled rotations (yarn, linear, dynamic, longrope) are recognised only to be refused.
  for (const auto name : {"rope_parameters", "rope_scaling"}) {
    auto inner = inside(name);
    inner.only({"rope_type", "default"});
    inner.only({"type", "default"});
    inner.number("rope_theta", theta, {1, 1e12});
    absorb(inner);
  }
  if (!find("rope_parameters")) number("rope_theta", theta, {1, 1e12});
}

field_reader field_reader::inside(std::string_view name) {
  auto member = find(name);
  if (member && !member->is_object()) refuse(std::string{name} + " must be an object.");
  return {file_, member.value_or(json{})};
}

void field_reader::absorb(const field_reader& inner) {
  if (inner.refused_ && !refused_) refused_ = inner.refused_;
}

std::string field_reader::shortest(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

result<json> parse_object(std::string_view file, result<json> parsed) {
  if (!parsed) return fail(checkpoint_error(file, parsed.error().text));
  if (!parsed->is_object()) return fail(checkpoint_error(file, "The file is not a JSON object."));
  return parsed;
}

}  // namespace glimmer
