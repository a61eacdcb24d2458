#include "model/plain_tensor.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "model/config.hpp"
#include "model/element.hpp"

namespace glimmer {
namespace {

/// Index of the first value all of whose exponent bits are set. In pieces whose loop has no way
/// out, so that billions of values are looked at as fast as they are read.
template <class Bits>
std::optional<std::size_t> first_not_finite(std::span<const std::byte> data, Bits exponent) {
  constexpr std::size_t piece = 4096;
  Bits values[piece];
  const auto count = data.size() / sizeof(Bits);
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const auto size = std::min(piece, count - begin);
    std::memcpy(values, data.data() + begin * sizeof(Bits), size * sizeof(Bits));
    unsigned seen = 0;
    for (std::size_t i = 0; i < size; ++i) seen |= (values[i] & exponent) == exponent;
    if (seen == 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      if ((values[i] & exponent) == exponent) return begin + i;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> first_not_finite(const stored_tensor& t) {
  if (t.type == "F32") return first_not_finite<std::uint32_t>(t.data, 0x7F800000u);
  return first_not_finite<std::uint16_t>(t.data, t.type == "F16" ? 0x7C00 : 0x7F80);
}

}  // namespace

error missing_tensor(const tensor_files& files, const wanted_tensor& wanted) {
  const auto& names = files.file_names();
  return checkpoint_error(
      names.size() == 1 ? names.front() : "model.safetensors.index.json",
      "Tensor " + wanted.name + " " + shape_text(wanted.shape) + " is missing.");
}

result<const stored_tensor*> find_plain(const tensor_files& files, const wanted_tensor& wanted) {
  const auto* stored = files.find(wanted.name);
  if (stored == nullptr) return fail(missing_tensor(files, wanted));
  const auto& file = files.file_of(*stored);
  if (!plain_type(*stored)) {
    return fail(checkpoint_error(file, "Tensor " + stored->name + " has type " + stored->type +
                                           "; only BF16, F16 and F32 can be read here, and of "
                                           "quantised modules the decoder's matrices."));
  }
  if (stored->shape != wanted.shape) {
    return fail(checkpoint_error(
        file, "Tensor " + stored->name + " has shape " + shape_text(stored->shape) +
                  " where config.json asks for " + shape_text(wanted.shape) + "."));
  }
  return stored;
}

result<void> check_finite(const tensor_files& files, const stored_tensor& t) {
  const auto at = first_not_finite(t);
  if (!at) return {};
  return fail(checkpoint_error(files.file_of(t), "Element " + std::to_string(*at) + " of tensor " +
                                                     t.name + " is not a finite number."));
}

}  // namespace glimmer
