#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"

namespace glimmer {

/// One tensor of a safetensors file. Views into the mapping; valid while the files live.
struct stored_tensor {
  std::string name;
  std::string type;  ///< as spelled in the header, e.g. "BF16"; one of the format's types
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;  ///< row-major, little-endian; not aligned
  std::uint32_t file = 0;           ///< index into `tensor_files::file_names`

  std::uint64_t count() const;
};

/// "[2, 3]".
std::string shape_text(std::span<const std::int64_t> shape);

/// A file mapped read-only; unmaps itself.
class mapped_file {
 public:
  mapped_file() = default;
  /// Fails when the file cannot be opened or mapped; an empty file maps to an empty span.
  static result<mapped_file> open(const std::filesystem::path& path);
  ~mapped_file();
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Gives the memory of a part of a mapped file back; whoever touches it reads it again.
void forget_pages(std::span<const std::byte> part);

/// Reads the header of one safetensors file: 8 bytes of little-endian header length, the JSON
/// header, then data; `data_offsets` count from the end of the header. Strict: known types,
/// shapes whose size is the extent of the data, every extent inside the file, no overlap, no gap,
/// nothing behind the last. `file` names the file in refusals. The result is in order of offset.
result<std::vector<stored_tensor>> read_safetensors_header(std::string_view file,
                                                           std::span<const std::byte> bytes);

/// All tensors of a checkpoint folder: model.safetensors, or the shards that
/// model.safetensors.index.json names. Immutable; any thread may read.
class tensor_files {
 public:
  static result<tensor_files> open(const std::filesystem::path& folder);

  const std::vector<std::string>& file_names() const { return names_; }
  /// File by file, in order of offset.
  const std::vector<stored_tensor>& tensors() const { return tensors_; }
  /// nullptr when there is none of that name.
  const stored_tensor* find(std::string_view name) const;
  const std::string& file_of(const stored_tensor& t) const { return names_[t.file]; }
  std::uint64_t data_bytes() const;

 private:
  result<void> add_file(const std::filesystem::path& folder, const std::string& name);

  std::vector<std::string> names_;
  std::vector<mapped_file> maps_;
  std::vector<stored_tensor> tensors_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace glimmer
