#include "model/weight_loader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "model/element.hpp"
#include "model/plain_tensor.hpp"

namespace glimmer {
namespace {

constexpr std::size_t alignment = 64;
/// Rows travel to the device in pieces of about this size.
constexpr std::size_t staging_bytes_max = std::size_t{64} << 20;

dtype type_of(const stored_tensor& t) {
  const auto type = plain_type(t);
  GLIMMER_ASSERT(type.has_value(), "only plain tensors pass the checks of a checkpoint");
  return *type;
}

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t row_bytes(const stored_tensor& t) {
  return t.data.size() / static_cast<std::size_t>(t.shape[0]);
}

/// Rows of a matrix that travel at once; at least one.
std::int64_t staged_rows(const stored_tensor& t) {
  const auto fit = staging_bytes_max / std::max<std::size_t>(row_bytes(t), 1);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(fit), 1, t.shape[0]);
}

std::size_t staged_bytes(const stored_tensor& t) {
  return static_cast<std::size_t>(staged_rows(t)) * row_bytes(t);
}

/// FP8 scales travel as f32 in one piece: they are few.
std::size_t staged_bytes(const stored_matrix& m) {
  const auto values = staged_bytes(*m.values);
  if (m.source() == dtype::f8_e4m3) {
    return std::max(values, block_scales(m).size() * sizeof(float));
  }
  return m.source() == dtype::f4_pair ? std::max(values, staged_bytes(*m.scales)) : values;
}

}  // namespace

dtype packed_type(const stored_matrix& m, load_quantization quantization) {
  if (m.scheme != weight_scheme::plain || quantization == load_quantization::none) {
    return m.source();
  }
  const bool exact = m.module == "lm_head" || m.module.ends_with("fc");
  return exact || quantization == load_quantization::int8 ? dtype::i8 : dtype::i4_pair;
}

// ---- plan ---------------------------------------------------------------------------------------

void weight_plan::add_norm(const stored_tensor& t) {
  resident_ += aligned(t.count() * sizeof(float));
}

void weight_plan::add_table(const stored_tensor& t) {
  resident_ += aligned(t.data.size());
  staging_ = std::max(staging_, staged_bytes(t));
}

void weight_plan::add_matrix(const stored_matrix& m) {
  resident_ += aligned(home_->operations().packed_bytes(m.extent, packed_type(m, quantization_)));
  staging_ = std::max(staging_, staged_bytes(m));
}

// ---- loading ------------------------------------------------------------------------------------

weight_loader::weight_loader(device& home, const tensor_files& files,
                             load_quantization quantization)
    : home_{&home}, files_{&files}, quantization_{quantization}, stream_{home.make_stream()} {}

result<weight_loader> weight_loader::make(device& home, const tensor_files& files,
                                          const weight_plan& plan) {
  weight_loader load{home, files, plan.quantization()};
  auto resident = home.allocate(plan.resident());
  if (!resident) return fail(resident.error());
  auto staging = home.allocate(plan.staging());
  if (!staging) return fail(staging.error());
  load.resident_ = std::move(*resident);
  load.staging_ = std::move(*staging);
  return load;
}

tensor weight_loader::norm(const stored_tensor& t) {
  look_at(t);
  std::vector<float> values(t.count());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element(t, i);
  const auto to = take(dtype::f32, {t.shape[0]}, values.size() * sizeof(float));
  home_->upload(stream_, to, std::as_bytes(std::span{values}));
  return to;
}

tensor weight_loader::table(const stored_tensor& t) {
  const auto to = take(type_of(t), {t.shape[0], t.shape[1]}, t.data.size());
  by_rows(t, [&](row_range rows, std::span<const std::byte> bytes) {
    home_->upload(stream_, to.rows(rows), bytes);
  });
  return to;
}

packed_matrix weight_loader::matrix(const stored_matrix& m) {
  if (auto right = check_values(*files_, m); !right && !refusal_) refusal_ = right.error();
  if (m.scheme == weight_scheme::plain) look_at(*m.values);
  const auto type = packed_type(m, quantization_);
  const auto bytes = home_->operations().packed_bytes(m.extent, type);
  const packed_matrix to{.storage = take(dtype::u8, {static_cast<std::int64_t>(bytes)}, bytes),
                         .out = m.extent.out,
                         .in = m.extent.in,
                         .source = type,
                         .scale = m.rule()};
  by_rows(*m.values, [&](row_range rows, std::span<const std::byte> part) {
    const auto staged = staging_.view(m.source(), {rows.count, m.values->shape[1]});
    home_->upload(stream_, staged, part);
    home_->operations().pack(stream_, to, rows.begin, staged);
  });
  if (to.source == dtype::f8_e4m3) pack_block_scales(to, m);
  if (to.source == dtype::f4_pair) pack_row_scales(to, *m.scales);
  return to;
}

device_buffer weight_loader::finish() {
  wait();
  return std::move(resident_);
}

void weight_loader::look_at(const stored_tensor& t) {
  if (!finite_ || refusal_) return;
  if (auto right = check_finite(*files_, t); !right) refusal_ = right.error();
}

void weight_loader::pack_block_scales(const packed_matrix& to, const stored_matrix& m) {
  const auto scales = block_scales(m);
  const auto across = (to.in + f8_block - 1) / f8_block;
  const auto down = static_cast<std::int64_t>(scales.size()) / across;
  const auto staged = staging_.view(dtype::f32, {down, across});
  home_->upload(stream_, staged, std::as_bytes(std::span{scales}));
  home_->operations().pack_scales(stream_, to, 0, staged);
  wait();
}

void weight_loader::pack_row_scales(const packed_matrix& to, const stored_tensor& scales) {
  by_rows(scales, [&](row_range rows, std::span<const std::byte> part) {
    const auto staged = staging_.view(dtype::f8_e4m3, {rows.count, scales.shape[1]});
    home_->upload(stream_, staged, part);
    home_->operations().pack_scales(stream_, to, rows.begin, staged);
  });
}

tensor weight_loader::take(dtype type, tensor_shape shape, std::size_t bytes) {
  const auto at = used_;
  used_ += aligned(bytes);
  GLIMMER_ASSERT(used_ <= resident_.bytes(), "the memory plan counted every tensor");
  return resident_.view(type, shape, at);
}

template <class Send>
void weight_loader::by_rows(const stored_tensor& t, const Send& send) {
  const auto step = staged_rows(t);
  for (std::int64_t row = 0; row < t.shape[0]; row += step) {
    const row_range rows{row, std::min(step, t.shape[0] - row)};
    const auto width = row_bytes(t);
    const auto part = t.data.subspan(static_cast<std::size_t>(rows.begin) * width,
                                     static_cast<std::size_t>(rows.count) * width);
    send(rows, part);
    wait();
    forget_pages(part);  // else the file would stand in memory beside the weights
  }
}

}  // namespace glimmer
