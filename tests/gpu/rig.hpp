#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "gpu/cpu/bf16.hpp"
#include "gpu/cpu/cpu_device.hpp"
#include "gpu/ops.hpp"

namespace glimmer {

using floats = std::vector<float>;
using ids = std::vector<std::int32_t>;
using raw_bytes = std::vector<std::byte>;

/// A device with one stream, and tensors that live as long as it does.
class rig {
 public:
  explicit rig(instruction_set set, unsigned threads = 2)
      : device_(make_cpu_device({.threads = threads, .cpus = {}, .instructions = set})),
        stream_(device_->make_stream()) {}
  /// Waits for what is queued: a test need not read all that it had computed, and memory must not
  /// go while the device works on it.
  ~rig() { device_->wait(device_->record(stream_)); }
  rig(const rig&) = delete;
  rig& operator=(const rig&) = delete;

  cpu_device& device() { return *device_; }
  stream_handle stream() const { return stream_; }
  ops& op() { return device_->operations(); }
  std::string name() const { return device_->info().name; }

  tensor make(tensor_shape shape, dtype type) {
    auto buffer = device_->allocate(static_cast<std::size_t>(shape.count()) * size_of(type));
    BOOST_REQUIRE(buffer.has_value());
    buffers_.push_back(std::move(*buffer));
    return buffers_.back().view(type, shape);
  }

  /// Values rounded to `type`.
  tensor put(const floats& values, tensor_shape shape, dtype type) {
    const tensor t = make(shape, type);
    put_bytes(t, encode(values, type));
    return t;
  }

  tensor put(const ids& values, tensor_shape shape) {
    const tensor t = make(shape, dtype::i32);
    put_bytes(t, std::as_bytes(std::span(values)));
    return t;
  }

  void put_bytes(tensor t, std::span<const std::byte> bytes) { device_->upload(stream_, t, bytes); }

  packed_matrix pack(const floats& values, matrix_extent extent, dtype type) {
    packed_matrix w{.storage = {}, .out = extent.out, .in = extent.in, .source = type};
    const auto bytes = static_cast<std::int64_t>(op().packed_bytes(extent, type));
    w.storage = make({bytes}, dtype::u8);
    op().pack(stream_, w, 0, put(values, {extent.out, extent.in}, type));
    return w;
  }

  raw_bytes get_bytes(tensor t) {
    raw_bytes bytes(t.bytes());
    device_->download(stream_, bytes, t);
    device_->wait(device_->record(stream_));
    return bytes;
  }

  floats get(tensor t) { return decode(get_bytes(t), t.type); }

  static raw_bytes encode(const floats& values, dtype type) {
    if (type == dtype::f32) {
      const auto bytes = std::as_bytes(std::span(values));
      return {bytes.begin(), bytes.end()};
    }
    raw_bytes bytes;
    for (const float value : values) {
      const std::uint16_t bits = type == dtype::bf16 ? to_bf16(value).bits : f16_bits(value);
      bytes.push_back(static_cast<std::byte>(bits & 0xff));
      bytes.push_back(static_cast<std::byte>(bits >> 8));
    }
    return bytes;
  }

  static floats decode(const raw_bytes& bytes, dtype type) {
    floats values(bytes.size() / size_of(type));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (type == dtype::f32) {
        std::memcpy(&values[i], bytes.data() + 4 * i, 4);
        continue;
      }
      std::uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + 2 * i, 2);
      values[i] = type == dtype::bf16 ? widen(bf16{bits}) : widen(f16{bits});
    }
    return values;
  }

  /// What is left of values after a trip through `type`.
  static floats rounded(const floats& values, dtype type) {
    return decode(encode(values, type), type);
  }

 private:
  /// Only for values that binary16 holds exactly or nearly (cuts the mantissa).
  static std::uint16_t f16_bits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto exponent = static_cast<int>((bits >> 23) & 0xff) - 112;
    if (exponent <= 0) return static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    return static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) |
                                      (static_cast<unsigned>(exponent) << 10) |
                                      ((bits >> 13) & 0x3ffu));
  }

  std::unique_ptr<cpu_device> device_;
  stream_handle stream_;
  std::deque<device_buffer> buffers_;
};

/// Runs the same body on every version of the arithmetic that this processor has.
template <class Body>
void on_every_version(const Body& body) {
  for (const instruction_set set : available_instruction_sets()) {
    BOOST_TEST_CONTEXT("version " << to_string(set)) {
      rig r(set);
      body(r);
    }
  }
}

/// Random test data; the seed is printed with every failure.
class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) { BOOST_TEST_MESSAGE("seed " << seed); }

  /// Normal values of standard deviation `sigma`.
  floats normal(std::int64_t count, float sigma = 1) {
    std::normal_distribution<float> distribution(0, sigma);
    floats values(static_cast<std::size_t>(count));
    for (float& value : values) value = distribution(engine_);
    return values;
  }

  std::int64_t below(std::int64_t bound) {
    return std::uniform_int_distribution<std::int64_t>(0, bound - 1)(engine_);
  }

  template <class Range>
  void shuffle(Range& range) {
    std::shuffle(range.begin(), range.end(), engine_);
  }

 private:
  std::mt19937_64 engine_;
};

/// Largest |got - expected| / (allowed + |expected| * relative); at most 1 when all is well.
struct tolerance {
  double relative = 0;
  double absolute = 0;
};
inline double worst_excess(const floats& got, const std::vector<double>& expected, tolerance t) {
  BOOST_REQUIRE(got.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - expected[i]);
    const double allowed = t.absolute + t.relative * std::abs(expected[i]);
    // Written so that a NaN counts as a failure.
    if (!(error <= worst * allowed)) worst = allowed > 0 && error == error ? error / allowed : 1e9;
  }
  return worst;
}

}  // namespace glimmer
