#include "model/stored_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/assert.hpp"
#include "model/config.hpp"
#include "model/element.hpp"
#include "model/plain_tensor.hpp"

namespace glimmer {
namespace {

using shape_list = std::vector<std::int64_t>;

std::int64_t blocks_of(std::int64_t whole) {
  return (whole + f8_block - 1) / f8_block;
}

/// One number: [] or [1].
bool is_single(const stored_tensor& t) {
  return t.shape.empty() || t.shape == shape_list{1};
}

class matrix_finder {
 public:
  matrix_finder(const tensor_files& files, const wanted_matrix& wanted)
      : files_{files}, wanted_{wanted} {}

  const stored_tensor* find(const char* ending) const {
    return files_.find(wanted_.module + ending);
  }

  /// The scheme that the tensors say.
  result<weight_scheme> scheme() const {
    if (find(".weight_packed") != nullptr) return weight_scheme::nvfp4_packed;
    const auto* weight = find(".weight");
    if (weight == nullptr) return fail(missing(".weight", {wanted_.extent.out, wanted_.extent.in}));
    if (plain_type(*weight)) return weight_scheme::plain;
    if (weight->type == "U8" && find(".weight_scale_2") != nullptr) return weight_scheme::nvfp4;
    if (weight->type == "F8_E4M3") {
      if (find(".weight_scale_inv") != nullptr) return weight_scheme::fp8_block;
      const auto* scale = find(".weight_scale");
      if (scale != nullptr && is_single(*scale)) return weight_scheme::fp8_tensor;
      if (scale != nullptr && scale->shape.size() == 2) return weight_scheme::fp8_block;
    }
    return fail(checkpoint_error(
        files_.file_of(*weight),
        "Module " + wanted_.module + " is stored in no known format: " + "its weight has type " +
            weight->type + ", and the tensors beside it are not those of FP8 or NVFP4."));
  }

  error missing(const char* ending, const shape_list& shape) const {
    return missing_tensor(files_, {wanted_.module + ending, shape});
  }

  /// The tensor of this ending, once type and shape are as they must be. An empty shape stands for
  /// one number.
  result<const stored_tensor*> expect(const char* ending, std::vector<std::string_view> types,
                                      const shape_list& shape) const {
    const auto* t = find(ending);
    if (t == nullptr) return fail(missing(ending, shape));
    if (std::ranges::find(types, t->type) == types.end()) {
      return fail(checkpoint_error(files_.file_of(*t), "Tensor " + t->name + " has type " +
                                                           t->type + " where " +
                                                           std::string{types[0]} + " belongs."));
    }
    const bool right = shape.empty() ? is_single(*t) : t->shape == shape;
    if (right) return t;
    return fail(checkpoint_error(files_.file_of(*t),
                                 "Tensor " + t->name + " has shape " + shape_text(t->shape) +
                                     " where config.json asks for " + shape_text(shape) + "."));
  }

 private:
  const tensor_files& files_;
  const wanted_matrix& wanted_;
};

/// Takes expected tensors one by one; the first that is not right stays as the failure.
class tensor_taker {
 public:
  explicit tensor_taker(const matrix_finder& finder) : finder_{finder} {}

  void take(const stored_tensor*& to, const char* ending, std::vector<std::string_view> types,
            const shape_list& shape) {
    if (refusal_) return;
    const auto found = finder_.expect(ending, std::move(types), shape);
    if (found) {
      to = *found;
    } else {
      refusal_ = found.error();
    }
  }
  const std::optional<error>& refusal() const { return refusal_; }

 private:
  const matrix_finder& finder_;
  std::optional<error> refusal_;
};

void take_tensors(tensor_taker& from, stored_matrix& m, const matrix_finder& finder) {
  const auto [out, in] = m.extent;
  switch (m.scheme) {
    case weight_scheme::plain:
      from.take(m.values, ".weight", {"BF16", "F16", "F32"}, {out, in});
      return;
    case weight_scheme::fp8_block: {
      const bool inverse = finder.find(".weight_scale_inv") != nullptr;
      from.take(m.values, ".weight", {"F8_E4M3"}, {out, in});
      from.take(m.scales, inverse ? ".weight_scale_inv" : ".weight_scale", {"BF16", "F32"},
                {blocks_of(out), blocks_of(in)});
      return;
    }
    case weight_scheme::fp8_tensor:
      from.take(m.values, ".weight", {"F8_E4M3"}, {out, in});
      from.take(m.scales, ".weight_scale", {"F32", "BF16"}, {});
      return;
    case weight_scheme::nvfp4:
      from.take(m.values, ".weight", {"U8"}, {out, in / 2});
      from.take(m.scales, ".weight_scale", {"F8_E4M3"}, {out, in / f4_block});
      from.take(m.factor, ".weight_scale_2", {"F32"}, {});
      return;
    case weight_scheme::nvfp4_packed:
      from.take(m.values, ".weight_packed", {"U8"}, {out, in / 2});
      from.take(m.scales, ".weight_scale", {"F8_E4M3"}, {out, in / f4_block});
      from.take(m.factor, ".weight_global_scale", {"F32"}, {});
      return;
  }
}

bool is_nvfp4(weight_scheme scheme) {
  return scheme == weight_scheme::nvfp4 || scheme == weight_scheme::nvfp4_packed;
}

/// Index of the first byte that `wrong` says yes to; in pieces whose loop has no way out, so that
/// billions of codes are looked at as fast as they are read.
template <class Wrong>
std::optional<std::size_t> first_byte(std::span<const std::byte> data, const Wrong& wrong) {
  constexpr std::size_t piece = 4096;
  std::size_t begin = 0;
  for (; begin + piece <= data.size(); begin += piece) {
    const auto* const at = reinterpret_cast<const std::uint8_t*>(data.data() + begin);
    std::uint8_t seen = 0;
    for (std::size_t i = 0; i < piece; ++i) seen |= static_cast<std::uint8_t>(wrong(at[i]));
    if (seen != 0) break;
  }
  for (; begin < data.size(); ++begin) {
    if (wrong(std::to_integer<std::uint8_t>(data[begin]))) return begin;
  }
  return std::nullopt;
}

/// The first scale that is not positive or not finite.
std::optional<std::size_t> wrong_scale(const stored_tensor& t) {
  if (t.type == "F8_E4M3") {
    return first_byte(t.data, [](std::uint8_t code) {
      return static_cast<std::uint8_t>(code - 1) > 0x7D;  // zero, NaN or negative
    });
  }
  for (std::size_t i = 0; i < t.count(); ++i) {
    const float scale = element(t, i);
    if (!(scale > 0 && scale < 0x1p100f)) return i;
  }
  return std::nullopt;
}

result<void> check_scales(const tensor_files& files, const stored_tensor& t) {
  const auto wrong = wrong_scale(t);
  if (!wrong) return {};
  return fail(checkpoint_error(files.file_of(t), "Scale " + std::to_string(*wrong) + " of tensor " +
                                                     t.name + " is " +
                                                     std::to_string(element(t, *wrong)) +
                                                     "; scales are positive and finite."));
}

result<void> check_codes(const tensor_files& files, const stored_tensor& t) {
  const auto at = first_byte(t.data, [](std::uint8_t code) { return (code & 0x7F) == 0x7F; });
  if (!at) return {};
  return fail(checkpoint_error(
      files.file_of(t), "Element " + std::to_string(*at) + " of tensor " + t.name + " is NaN."));
}

/// The value of an E2M1 code.
float four_bits(std::uint32_t code) {
  const auto exponent = code >> 1 & 3;
  const float mantissa = static_cast<float>(code & 1);
  const float magnitude = exponent == 0
                              ? 0.5f * mantissa
                              : std::ldexp(1 + 0.5f * mantissa, static_cast<int>(exponent) - 1);
  return (code & 8) != 0 ? -magnitude : magnitude;
}

void dequantise_fp8(const stored_matrix& m, std::vector<float>& out) {
  const auto scales = block_scales(m);
  const auto [rows, columns] = m.extent;
  const auto across = blocks_of(columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const auto block = row / f8_block * across + i / f8_block;
      out.push_back(element(*m.values, static_cast<std::size_t>(row * columns + i)) *
                    scales[static_cast<std::size_t>(block)]);
    }
  }
}

void dequantise_nvfp4(const stored_matrix& m, std::vector<float>& out) {
  const float factor = element(*m.factor, 0);
  const auto count = static_cast<std::size_t>(m.extent.out * m.extent.in);
  for (std::size_t i = 0; i < count; ++i) {
    const float block = element(*m.scales, i / f4_block);
    const float scale = m.scheme == weight_scheme::nvfp4 ? block * factor : block / factor;
    const auto pair = std::to_integer<std::uint32_t>(m.values->data[i / 2]);
    out.push_back(four_bits(i % 2 == 0 ? pair & 15 : pair >> 4) * scale);
  }
}

}  // namespace

std::vector<const stored_tensor*> stored_matrix::tensors() const {
  std::vector<const stored_tensor*> all{values, scales, factor, input_scale};
  std::erase(all, nullptr);
  return all;
}

dtype stored_matrix::source() const {
  if (is_nvfp4(scheme)) return dtype::f4_pair;
  if (scheme != weight_scheme::plain) return dtype::f8_e4m3;
  const auto type = plain_type(*values);
  GLIMMER_ASSERT(type.has_value(), "a plain matrix was found by its type");
  return *type;
}

scale_rule stored_matrix::rule() const {
  if (scheme == weight_scheme::nvfp4) return {.multiplier = element(*factor, 0)};
  if (scheme == weight_scheme::nvfp4_packed) return {.divisor = element(*factor, 0)};
  return {};
}

result<stored_matrix> find_matrix(const tensor_files& files, const quantization_config& config,
                                  const wanted_matrix& wanted) {
  const matrix_finder finder{files, wanted};
  const auto scheme = finder.scheme();
  if (!scheme) return fail(scheme.error());
  auto declared = config.of(wanted.module);
  if (!declared) return fail(checkpoint_error("config.json", declared.error().text));
  stored_matrix m{.module = wanted.module, .extent = wanted.extent, .scheme = *scheme};
  if (*scheme != declared->scheme) {
    return fail(checkpoint_error(
        "config.json", "Module " + wanted.module + " is stored as " +
                           std::string{to_string(*scheme)} + ", and quantization_config " +
                           (config.method().empty() ? "is absent" : "declares it ") +
                           std::string{config.method().empty() ? "" : to_string(declared->scheme)} +
                           "."));
  }
  if (is_nvfp4(*scheme) && wanted.extent.in % f4_block != 0) {
    return fail(checkpoint_error("config.json", "Module " + wanted.module +
                                                    " has rows that are no multiple of 16, which "
                                                    "NVFP4 cannot hold."));
  }
  tensor_taker taker{finder};
  take_tensors(taker, m, finder);
  if (declared->input_scale) {
    const bool packed = *scheme == weight_scheme::nvfp4_packed;
    taker.take(m.input_scale, packed ? ".input_global_scale" : ".input_scale", {"F32", "BF16"}, {});
  }
  if (taker.refusal()) return fail(*taker.refusal());
  return m;
}

result<void> check_values(const tensor_files& files, const stored_matrix& m) {
  for (const auto* t : {m.scales, m.factor, m.input_scale}) {
    if (t == nullptr) continue;
    if (auto right = check_scales(files, *t); !right) return right;
  }
  return m.source() == dtype::f8_e4m3 ? check_codes(files, *m.values) : result<void>{};
}

std::vector<float> block_scales(const stored_matrix& m) {
  std::vector<float> scales(
      static_cast<std::size_t>(blocks_of(m.extent.out) * blocks_of(m.extent.in)));
  const bool one = m.scheme == weight_scheme::fp8_tensor;
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = element(*m.scales, one ? 0 : i);
  return scales;
}

std::vector<float> dequantised(const stored_matrix& m) {
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(m.extent.out * m.extent.in));
  if (m.scheme == weight_scheme::plain) {
    for (std::size_t i = 0; i < m.values->count(); ++i) out.push_back(element(*m.values, i));
  } else if (is_nvfp4(m.scheme)) {
    dequantise_nvfp4(m, out);
  } else {
    dequantise_fp8(m, out);
  }
  return out;
}

}  // namespace glimmer
