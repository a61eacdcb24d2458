#include "model/draft_checkpoint.hpp"

#include <array>
#include <cstdio>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/json.hpp"
#include "model/element.hpp"
#include "model/field_reader.hpp"
#include "model/plain_tensor.hpp"
#include "model/quantization.hpp"

namespace glimmer {
namespace {

/// A module that other publishers spell differently, from `published` on to the end of its name.
struct alias {
  std::string_view published;
  std::string_view other;
};
constexpr alias aliases[] = {{"encoder.fc", "fc"}, {"encoder.output_norm_enc", "hidden_norm"}};

/// A matrix that may lie in a fused one, its rows from `first_row` on.
struct fused_place {
  std::string_view ending;  ///< of the published name
  std::string_view fused;   ///< in its stead
  std::int64_t first_row = 0;
  std::int64_t rows = 0;  ///< of the fused matrix
};

std::vector<fused_place> fused_places(const draft_head_config& c) {
  const auto q = c.query_width();
  const auto kv = c.kv_width();
  const auto both = 2 * c.intermediate_size;
  return {{"self_attn.q_proj", "self_attn.qkv_proj", 0, q + 2 * kv},
          {"self_attn.k_proj", "self_attn.qkv_proj", q, q + 2 * kv},
          {"self_attn.v_proj", "self_attn.qkv_proj", q + kv, q + 2 * kv},
          {"mlp.gate_proj", "mlp.gate_up_proj", 0, both},
          {"mlp.up_proj", "mlp.gate_up_proj", c.intermediate_size, both}};
}

/// The module's name in the files, if it is there under any spelling.
std::optional<std::string> name_in(const tensor_files& files, const std::string& published) {
  std::vector<std::string> spellings{published};
  for (const auto& a : aliases) {
    if (published == a.published) spellings.emplace_back(a.other);
  }
  for (const auto& spelling : spellings) {
    for (const auto& name : {spelling, "model." + spelling}) {
      for (const auto* ending : {".weight", ".weight_packed"}) {
        if (files.find(name + ending) != nullptr) return name;
      }
    }
  }
  return std::nullopt;
}

/// Fills a checkpoint module by module and remembers which tensors it used.
class module_finder {
 public:
  module_finder(draft_checkpoint& to, const quantization_config& formats)
      : to_{to}, formats_{formats} {}

  result<void> find(const head_module& m) {
    std::uint64_t count = 1;
    for (const auto extent : m.shape) count *= static_cast<std::uint64_t>(extent);
    to_.parameters += count;
    const auto name = name_in(to_.files, m.name);
    if (m.shape.size() == 1) return find_norm(m, name.value_or(m.name));
    if (name) return find_separate(m, *name);
    return find_fused(m);
  }

  result<void> refuse_leftovers() const {
    for (const auto& t : to_.files.tensors()) {
      if (used_.contains(t.name)) continue;
      return fail(checkpoint_error(to_.files.file_of(t),
                                   "Tensor " + t.name + " " + shape_text(t.shape) +
                                       " is not part of a DFlash head of this configuration."));
    }
    return {};
  }

 private:
  result<void> find_norm(const head_module& m, const std::string& name) {
    const auto found = find_plain(to_.files, {name + ".weight", m.shape});
    if (!found) return fail(found.error());
    used_.insert((*found)->name);
    to_.norms.emplace(m.name, *found);
    return {};
  }

  result<void> find_separate(const head_module& m, const std::string& name) {
    auto found = find_matrix(to_.files, formats_, {name, {m.shape[0], m.shape[1]}});
    if (!found) return fail(found.error());
    for (const auto* t : found->tensors()) used_.insert(t->name);
    to_.matrices.emplace(m.name, std::move(*found));
    return {};
  }

  result<void> find_fused(const head_module& m) {
    for (const auto& place : fused_places(to_.config)) {
      if (!m.name.ends_with(place.ending)) continue;
      const auto stem = m.name.substr(0, m.name.size() - place.ending.size());
      const auto name = name_in(to_.files, stem + std::string{place.fused});
      if (name) return take_part(m, *name, place);
    }
    return fail(missing_tensor(to_.files, {m.name + ".weight", m.shape}));
  }

  result<void> take_part(const head_module& m, const std::string& name, const fused_place& place) {
    const auto whole = find_plain(to_.files, {name + ".weight", {place.rows, m.shape[1]}});
    if (!whole) return fail(whole.error());
    used_.insert((*whole)->name);
    const auto row_bytes = (*whole)->data.size() / static_cast<std::size_t>(place.rows);
    auto part = **whole;
    part.shape = m.shape;
    part.data = part.data.subspan(static_cast<std::size_t>(place.first_row) * row_bytes,
                                  static_cast<std::size_t>(m.shape[0]) * row_bytes);
    to_.parts.push_back(std::move(part));
    to_.matrices.emplace(m.name, stored_matrix{.module = name,
                                               .extent = {m.shape[0], m.shape[1]},
                                               .values = &to_.parts.back()});
    return {};
  }

  draft_checkpoint& to_;
  const quantization_config& formats_;
  std::unordered_set<std::string_view> used_;
};

double mean_of(const stored_tensor& t) {
  double sum = 0;
  for (std::size_t i = 0; i < t.count(); ++i) sum += static_cast<double>(element(t, i));
  return sum / static_cast<double>(t.count());
}

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f", value);
  return text.data();
}

/// The head's norms are plain, so their means lie near 1 in most files; where they lie near 0 the
/// file was made for code that adds the 1. Only a hint: trained norms may be anything.
std::string norm_note(const draft_checkpoint& c) {
  std::string text = "Means of the draft head's norm weights:";
  for (const auto& m : expected_modules(c.config)) {
    if (m.shape.size() != 1) continue;
    text += " " + m.name + " " + short_number(mean_of(*c.norms.at(m.name))) + ",";
  }
  text.back() = '.';
  return text;
}

result<quantization_config> formats_in(const std::filesystem::path& folder) {
  const auto text = read_checkpoint_text(folder / "config.json");
  if (!text) return fail(text.error());
  const auto config = parse_object("config.json", json::parse(*text));
  if (!config) return fail(config.error());
  const auto value = config->find("quantization_config");
  if (!value || value->is_null()) return quantization_config{};
  auto formats = quantization_config::parse(*value);
  if (!formats) return fail(checkpoint_error("config.json", formats.error().text));
  return formats;
}

result<void> find_modules(draft_checkpoint& c, const std::filesystem::path& folder) {
  const auto formats = formats_in(folder);
  if (!formats) return fail(formats.error());
  module_finder finder{c, *formats};
  for (const auto& m : expected_modules(c.config)) {
    if (auto found = finder.find(m); !found) return found;
  }
  return finder.refuse_leftovers();
}

}  // namespace

std::vector<head_module> expected_modules(const draft_head_config& c) {
  std::vector<head_module> out;
  const auto hidden = c.hidden_size;
  out.push_back({"encoder.fc", {hidden, c.feature_width()}});
  out.push_back({"encoder.output_norm_enc", {hidden}});
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const auto add = [&](const char* name, std::vector<std::int64_t> shape) {
      out.push_back({"layers." + std::to_string(i) + "." + name, std::move(shape)});
    };
    add("input_layernorm", {hidden});
    add("post_attention_layernorm", {hidden});
    add("self_attn.q_proj", {c.query_width(), hidden});
    add("self_attn.k_proj", {c.kv_width(), hidden});
    add("self_attn.v_proj", {c.kv_width(), hidden});
    add("self_attn.o_proj", {hidden, c.query_width()});
    add("self_attn.q_norm", {c.head_dim});
    add("self_attn.k_norm", {c.head_dim});
    add("mlp.gate_proj", {c.intermediate_size, hidden});
    add("mlp.up_proj", {c.intermediate_size, hidden});
    add("mlp.down_proj", {hidden, c.intermediate_size});
  }
  out.push_back({"norm", {hidden}});
  return out;
}

result<draft_checkpoint> open_draft_checkpoint(const std::filesystem::path& folder,
                                               const text_config& target) {
  auto config = read_draft_head_config(folder);
  if (!config) return fail(config.error());
  if (const auto fits = check_pair(*config, target); !fits) return fail(fits.error());
  auto files = tensor_files::open(folder);
  if (!files) return fail(of_draft_head(files.error()));
  draft_checkpoint c{.config = std::move(*config), .files = std::move(*files)};
  if (const auto found = find_modules(c, folder); !found) return fail(of_draft_head(found.error()));
  c.notes.push_back(norm_note(c));
  return c;
}

}  // namespace glimmer
