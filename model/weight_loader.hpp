#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.hpp"
#include "gpu/device.hpp"
#include "gpu/ops.hpp"
#include "model/safetensors.hpp"
#include "model/stored_matrix.hpp"

namespace glimmer {

/// What plain matrices become on their way to the device. `int4` leaves the output head at 8 bits,
/// whose errors go straight into the logits, and a draft head's `fc`, on which all its context
/// depends. Tables and norms stay as they are.
enum class load_quantization : std::uint8_t { none, int8, int4 };

/// The type that a matrix has on the device.
dtype packed_type(const stored_matrix& m, load_quantization quantization);

/// Device memory that tensors take, counted one by one in any order: for good, and as staging for
/// the largest piece that travels at once.
class weight_plan {
 public:
  weight_plan(device& home, load_quantization quantization)
      : home_{&home}, quantization_{quantization} {}

  void add_norm(const stored_tensor& t);
  void add_table(const stored_tensor& t);
  void add_matrix(const stored_matrix& m);

  std::size_t resident() const { return resident_; }
  std::size_t staging() const { return staging_; }
  load_quantization quantization() const { return quantization_; }

 private:
  device* home_;
  load_quantization quantization_;
  std::size_t resident_ = 0;
  std::size_t staging_ = 0;
};

/// Fills one device buffer from front to back, tensor after tensor: those that the plan counted, in
/// any order. Blocks while a matrix or a table travels.
class weight_loader {
 public:
  /// Fails with kind `device` when memory is short.
  static result<weight_loader> make(device& home, const tensor_files& files,
                                    const weight_plan& plan);

  /// A norm's weights as f32.
  tensor norm(const stored_tensor& t);
  /// Rows as the file holds them.
  tensor table(const stored_tensor& t);
  /// A matrix, packed for the device's products. Looks at its values; see `refusal`.
  packed_matrix matrix(const stored_matrix& m);

  /// Refuses plain matrices and norms with NaN or infinity too, which costs another look at each.
  void demand_finite() { finite_ = true; }
  /// The first tensor whose values were not right, if one was loaded.
  const std::optional<error>& refusal() const { return refusal_; }

  /// Waits for what is queued and hands over the memory of all tensors.
  device_buffer finish();

 private:
  weight_loader(device& home, const tensor_files& files, load_quantization quantization);
  void look_at(const stored_tensor& t);
  void pack_block_scales(const packed_matrix& to, const stored_matrix& m);
  void pack_row_scales(const packed_matrix& to, const stored_tensor& scales);
  tensor take(dtype type, tensor_shape shape, std::size_t bytes);
  void wait() { home_->wait(home_->record(stream_)); }

  /// Queues `send` for piece after piece and waits in between, so that host memory stays bounded.
  template <class Send>
  void by_rows(const stored_tensor& t, const Send& send);

  device* home_;
  const tensor_files* files_;
  load_quantization quantization_;
  device_buffer resident_;
  device_buffer staging_;
  stream_handle stream_;
  std::size_t used_ = 0;
  bool finite_ = false;
  std::optional<error> refusal_;
};

}  // namespace glimmer
