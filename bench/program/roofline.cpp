#include "bench/program/roofline.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "bench/program/statistics.hpp"
#include "gpu/cpu/cpu_device.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace glimmer {
namespace {

/// What one thread does: some rounds of multiply-adds (returns how many floats each round fuses),
/// and one pass over memory. Both return or store something, or they would be left out.
struct probe {
  std::int64_t (*fuse)(std::int64_t rounds, float* sink);
  void (*read)(const std::byte* from, std::size_t bytes, float* sink);
};

/// Chains of multiply-adds that do not wait for one another: more than latency times ports.
constexpr int chains = 12;

std::int64_t plain_fuse(std::int64_t rounds, float* sink) {
  float sums[chains] = {};
  for (std::int64_t i = 0; i < rounds; ++i)
    for (float& sum : sums) sum = sum * 0.999f + 0.001f;
  for (const float sum : sums) *sink += sum;
  return chains;
}

void plain_read(const std::byte* from, std::size_t bytes, float* sink) {
  const auto* const words = reinterpret_cast<const std::uint64_t*>(from);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) sum += words[i];
  *sink += static_cast<float>(sum & 0xff);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] std::int64_t avx2_fuse(std::int64_t rounds, float* sink) {
  __m256 sums[chains];
  for (auto& sum : sums) sum = _mm256_setzero_ps();
  const __m256 factor = _mm256_set1_ps(0.999f);
  const __m256 term = _mm256_set1_ps(0.001f);
  for (std::int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm256_fmadd_ps(sums[c], factor, term);
  for (const auto& sum : sums) *sink += _mm256_cvtss_f32(sum);
  return chains * 8;
}

/// Four streams side by side, as the panels of a product are read: more than one is what it takes
/// to keep the memory busy.
[[gnu::target("avx2")]] void avx2_read(const std::byte* from, std::size_t bytes, float* sink) {
  constexpr std::size_t streams = 4;
  constexpr std::size_t line = 64;
  const std::size_t share = bytes / streams / line * line;
  __m256i sums[streams] = {};
  for (std::size_t at = 0; at + line <= share; at += line) {
#pragma GCC unroll 4
    for (std::size_t s = 0; s < streams; ++s) {
      const auto* const words = reinterpret_cast<const __m256i*>(from + s * share + at);
      sums[s] = _mm256_xor_si256(sums[s], _mm256_xor_si256(words[0], words[1]));
    }
  }
  for (const auto& sum : sums) *sink += static_cast<float>(_mm256_extract_epi8(sum, 0));
}

[[gnu::target("avx512f")]] std::int64_t avx512_fuse(std::int64_t rounds, float* sink) {
  __m512 sums[chains];
  for (auto& sum : sums) sum = _mm512_setzero_ps();
  const __m512 factor = _mm512_set1_ps(0.999f);
  const __m512 term = _mm512_set1_ps(0.001f);
  for (std::int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm512_fmadd_ps(sums[c], factor, term);
  for (const auto& sum : sums) *sink += _mm512_cvtss_f32(sum);
  return chains * 16;
}

[[gnu::target("avx512f,avx512vnni")]] std::int64_t vnni_fuse(std::int64_t rounds, float* sink) {
  __m512i sums[chains];
  for (auto& sum : sums) sum = _mm512_setzero_si512();
  const __m512i bytes = _mm512_set1_epi32(static_cast<int>(rounds));
  for (std::int64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) sums[c] = _mm512_dpbusd_epi32(sums[c], bytes, bytes);
  for (const auto& sum : sums) *sink += static_cast<float>(_mm512_cvtsi512_si32(sum));
  return chains * 64;
}

/// Eight tiles of 16 rows of 64 bytes: sums in four, factors in the others. As the processor reads
/// it.
struct alignas(64) whole_tiles {
  std::uint8_t palette_and_start[16] = {1};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

[[gnu::target("amx-tile,amx-bf16")]] std::int64_t tile_pairs_fuse(std::int64_t rounds, float*) {
  const whole_tiles shape;
  asm volatile("ldtilecfg %0" ::"m"(shape));
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
  return std::int64_t{4} * 16 * 16 * 32;
}

[[gnu::target("amx-tile,amx-int8")]] std::int64_t tile_bytes_fuse(std::int64_t rounds, float*) {
  const whole_tiles shape;
  asm volatile("ldtilecfg %0" ::"m"(shape));
  for (std::int64_t i = 0; i < rounds; ++i) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_release();
  return std::int64_t{4} * 16 * 16 * 64;
}
#endif

/// A unit for short numbers, and where its peak is told; null where the processor has none.
struct unit_probe {
  std::int64_t (*fuse)(std::int64_t rounds, float* sink);
  double roofline::*peak;
};

std::vector<unit_probe> units() {
  std::vector<unit_probe> found;
#if defined(__x86_64__)
  const auto sets = available_instruction_sets();
  const auto has = [&](instruction_set set) { return std::ranges::find(sets, set) != sets.end(); };
  if (has(instruction_set::avx512vnni)) found.push_back({vnni_fuse, &roofline::vnni_per_second});
  if (has(instruction_set::amx)) {
    found.push_back({tile_pairs_fuse, &roofline::tile_pairs_per_second});
    found.push_back({tile_bytes_fuse, &roofline::tile_bytes_per_second});
  }
#endif
  return found;
}

probe fastest_probe() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2 && __builtin_cpu_supports("avx512f")) return {avx512_fuse, avx2_read};
  if (avx2) return {avx2_fuse, avx2_read};
#endif
  return {plain_fuse, plain_read};
}

/// So much that no cache holds a part worth mentioning.
constexpr std::size_t read_bytes = std::size_t{512} << 20;
constexpr std::int64_t fuse_rounds = 2'000'000;
constexpr std::int64_t unit_rounds = 1'000'000;
/// Pieces a thread takes one after another, so that a thread that is held up holds up less.
constexpr std::size_t pieces_a_thread = 8;

}  // namespace

double roofline::seconds(const work& w) const {
  return std::max(w.bytes / bytes_per_second, w.flops / flops_per_second);
}

bool roofline::memory_binds(const work& w) const {
  return w.bytes / bytes_per_second > w.flops / flops_per_second;
}

std::vector<figure> roofline::figures() const {
  std::vector<figure> all{{"gb_per_s", bytes_per_second * 1e-9},
                          {"gflops", flops_per_second * 1e-9}};
  if (vnni_per_second > 0) all.push_back({"vnni_gops", vnni_per_second * 1e-9});
  if (tile_pairs_per_second > 0) {
    all.push_back({"tile_bf16_gflops", tile_pairs_per_second * 1e-9});
    all.push_back({"tile_i8_gops", tile_bytes_per_second * 1e-9});
  }
  return all;
}

roofline measure_roofline(device& home, const measuring& how) {
  const auto use = fastest_probe();
  const std::size_t pieces = pieces_a_thread * how.clock.threads;
  std::vector<float> sinks(pieces * 16);  // a cache line each
  const auto buffer = home.allocate(read_bytes);
  if (!buffer) throw std::runtime_error(buffer.error().text);
  auto* const memory = reinterpret_cast<std::byte*>(
      buffer->view(dtype::u8, {static_cast<std::int64_t>(read_bytes)}).data.address);
  const std::size_t share = read_bytes / pieces / 128 * 128;
  home.for_each(pieces, [&](std::size_t i) {
    std::fill_n(memory + i * share, share, static_cast<std::byte>(i));
  });
  // Multiply-adds a second of all threads, each 2 operations.
  const auto fused = [&](auto fuse, std::int64_t rounds) {
    std::int64_t each = 0;
    const double took = how.clock.seconds_of([&] {
      home.for_each(pieces, [&](std::size_t i) {
        const auto count = fuse(rounds, &sinks[i * 16]);
        if (i == 0) each = count;
      });
    });
    return 2.0 * static_cast<double>(each * rounds) * static_cast<double>(pieces) / took;
  };
  roofline roof;
  for (const unit_probe& unit : units()) {
    std::vector<double> peak;
    for (int run = 0; run < how.runs; ++run) peak.push_back(fused(unit.fuse, unit_rounds));
    roof.*unit.peak = median(peak);
  }
  std::vector<double> bandwidth;
  std::vector<double> peak;
  for (int run = 0; run < how.runs; ++run) {
    const double reading = how.clock.seconds_of([&] {
      home.for_each(pieces,
                    [&](std::size_t i) { use.read(memory + i * share, share, &sinks[i * 16]); });
    });
    bandwidth.push_back(static_cast<double>(share * pieces) / reading);
    peak.push_back(fused(use.fuse, fuse_rounds));
  }
  roof.bytes_per_second = median(bandwidth);
  roof.flops_per_second = median(peak);
  return roof;
}

}  // namespace glimmer
