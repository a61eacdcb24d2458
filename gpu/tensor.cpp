#include "gpu/tensor.hpp"

namespace glimmer {

tensor tensor::rows(row_range range) const {
  GLIMMER_ASSERT(shape.rank >= 1, "only a tensor with an axis has rows");
  GLIMMER_ASSERT(range.begin >= 0 && range.count >= 0 && range.begin + range.count <= shape[0],
                 "rows lie inside the outermost axis");
  std::int64_t row = 1;
  for (std::size_t axis = 1; axis < shape.rank; ++axis) row *= shape[axis];
  tensor part = *this;
  part.shape.extent[0] = range.count;
  part.data.address += static_cast<std::size_t>(range.begin * row) * size_of(type);
  return part;
}

tensor tensor::reshaped(tensor_shape to) const {
  GLIMMER_ASSERT(to.count() == count(), "another shape holds as many elements");
  return {.data = data, .shape = to, .type = type};
}

}  // namespace glimmer
