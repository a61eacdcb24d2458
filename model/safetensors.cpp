#include "model/safetensors.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/json.hpp"
#include "model/config.hpp"

namespace glimmer {
namespace {

constexpr std::string_view index_file = "model.safetensors.index.json";
constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t header_bytes_max = 100'000'000;

/// Bits of one element; nullopt for a type that the format does not know.
std::optional<std::uint64_t> type_bits(std::string_view type) {
  static constexpr std::pair<std::string_view, std::uint64_t> known[] = {
      {"BF16", 16},   {"F16", 16},    {"F32", 32}, {"F64", 64},    {"F8_E4M3", 8},
      {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F4", 4},   {"I8", 8},      {"I16", 16},
      {"I32", 32},    {"I64", 64},    {"U8", 8},   {"U16", 16},    {"U32", 32},
      {"U64", 64},    {"BOOL", 8},    {"C64", 64}, {"F6_E2M3", 6}, {"F6_E3M2", 6},
  };
  for (const auto& [name, bits] : known) {
    if (name == type) return bits;
  }
  return std::nullopt;
}

/// Bytes of a dense tensor; nullopt when the product overflows or is no whole number of bytes.
std::optional<std::uint64_t> dense_bytes(const std::vector<std::int64_t>& shape,
                                         std::uint64_t bits) {
  std::uint64_t total = bits;
  for (const auto extent : shape) {
    if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(extent), &total)) return {};
  }
  if (total % 8 != 0) return {};
  return total / 8;
}

/// Reads the entries of one header; each refusal names the tensor.
class header_reader {
 public:
  header_reader(std::string_view file, std::span<const std::byte> data)
      : file_{file}, data_{data} {}

  result<stored_tensor> tensor(const json& entry) const {
    stored_tensor t;
    t.name = entry.key();
    if (!entry.is_object()) return refuse(t, "is not described by an object");
    const auto type = entry.find("dtype");
    if (!type || !type->is_string()) return refuse(t, "has no dtype");
    t.type = type->string();
    const auto bits = type_bits(t.type);
    if (!bits) return refuse(t, "has the unknown dtype \"" + t.type + "\"");
    const auto shape = entry.find("shape");
    auto extents = shape ? integers(*shape) : std::nullopt;
    if (!extents) return refuse(t, "has no shape of whole numbers");
    t.shape = std::move(*extents);
    const auto range = entry.find("data_offsets");
    const auto offsets = range ? integers(*range) : std::nullopt;
    if (!offsets || offsets->size() != 2) return refuse(t, "has no pair of data_offsets");
    return place(std::move(t), *bits, *offsets);
  }

 private:
  std::unexpected<error> refuse(const stored_tensor& t, const std::string& what) const {
    return fail(checkpoint_error(file_, "Tensor " + t.name + " " + what + "."));
  }

  static std::optional<std::vector<std::int64_t>> integers(const json& list) {
    if (!list.is_array()) return std::nullopt;
    std::vector<std::int64_t> out;
    for (const auto& item : list.elements()) {
      const auto value = item.is_number() ? item.integer() : std::nullopt;
      if (!value || *value < 0) return std::nullopt;
      out.push_back(*value);
    }
    return out;
  }

  result<stored_tensor> place(stored_tensor t, std::uint64_t bits,
                              const std::vector<std::int64_t>& offsets) const {
    const auto begin = static_cast<std::uint64_t>(offsets[0]);
    const auto end = static_cast<std::uint64_t>(offsets[1]);
    const auto range = "data_offsets [" + std::to_string(begin) + ", " + std::to_string(end) + "]";
    if (begin > end) return refuse(t, "has " + range + ", which end before they begin");
    if (end > data_.size()) {
      return refuse(t, "has " + range + ", but the file holds " + std::to_string(data_.size()) +
                           " bytes of data");
    }
    const auto bytes = dense_bytes(t.shape, bits);
    if (!bytes) return refuse(t, "has a shape whose size in bytes is not a 64-bit number");
    if (*bytes != end - begin) {
      return refuse(t, "needs " + std::to_string(*bytes) + " bytes for its shape and dtype " +
                           t.type + ", but its " + range + " span " + std::to_string(end - begin));
    }
    t.data = data_.subspan(begin, end - begin);
    return t;
  }

  std::string file_;
  std::span<const std::byte> data_;
};

/// In order of offset, the tensors must cover the data without overlap and without a gap.
result<void> check_cover(std::string_view file, std::span<const std::byte> data,
                         const std::vector<stored_tensor>& tensors) {
  const std::byte* covered = data.data();
  const auto place = [&](const std::byte* p) { return std::to_string(p - data.data()); };
  for (const auto& t : tensors) {
    if (t.data.data() < covered) {
      return fail(checkpoint_error(
          file, "Tensor " + t.name + " begins at data byte " + place(t.data.data()) +
                    ", inside another that ends at " + place(covered) + "."));
    }
    if (t.data.data() > covered) {
      return fail(checkpoint_error(file, "Data bytes " + place(covered) + " to " +
                                             place(t.data.data()) + " belong to no tensor."));
    }
    covered += t.data.size();
  }
  if (covered == data.data() + data.size()) return {};
  return fail(checkpoint_error(file, "Data bytes " + place(covered) + " to " +
                                         std::to_string(data.size()) + " belong to no tensor."));
}

result<std::uint64_t> header_length(std::string_view file, std::span<const std::byte> bytes) {
  if (bytes.size() < length_bytes) {
    return fail(checkpoint_error(file, "The file has " + std::to_string(bytes.size()) +
                                           " bytes, too few for the header length."));
  }
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (length > bytes.size() - length_bytes || length > header_bytes_max) {
    return fail(checkpoint_error(file, "The header is said to have " + std::to_string(length) +
                                           " bytes, but the file has " +
                                           std::to_string(bytes.size()) + " and the limit is " +
                                           std::to_string(header_bytes_max) + "."));
  }
  return length;
}

result<std::string> read_index_text(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{in}, {}};
  if (!in.is_open() || in.bad()) return fail(checkpoint_error(index_file, "It cannot be read."));
  return text;
}

/// What model.safetensors.index.json tells.
struct shard_index {
  std::map<std::string, std::string> shard_of;  ///< by tensor name
  std::optional<std::int64_t> total_size;       ///< bytes of data in all shards
};

result<shard_index> read_index(const std::filesystem::path& path) {
  const auto text = read_index_text(path);
  if (!text) return fail(text.error());
  const auto parsed = json::parse(*text);
  if (!parsed) return fail(checkpoint_error(index_file, parsed.error().text));
  const auto weights = parsed->find("weight_map");
  if (!weights || !weights->is_object()) {
    return fail(checkpoint_error(index_file, "It has no weight_map."));
  }
  shard_index index;
  if (const auto about = parsed->find("metadata"); about && about->find("total_size")) {
    index.total_size = about->find("total_size")->integer();
  }
  for (const auto& shard : weights->elements()) {
    const std::string name{shard.is_string() ? shard.string() : ""};
    const bool plain = name.ends_with(".safetensors") && name.find('/') == std::string::npos;
    if (!plain) {
      return fail(checkpoint_error(index_file, "Tensor " + std::string{shard.key()} +
                                                   " is not mapped to a .safetensors file."));
    }
    index.shard_of.emplace(shard.key(), name);
  }
  return index;
}

/// Index and shards must tell the same story.
result<void> check_index(const tensor_files& files, const shard_index& index) {
  for (const auto& [name, shard] : index.shard_of) {
    const auto* t = files.find(name);
    if (t == nullptr || files.file_of(*t) != shard) {
      return fail(
          checkpoint_error(index_file, "Tensor " + name + " is not in " + shard + " as it says."));
    }
  }
  for (const auto& t : files.tensors()) {
    if (index.shard_of.contains(t.name)) continue;
    return fail(checkpoint_error(
        index_file, "Tensor " + t.name + " of " + files.file_of(t) + " is not listed in it."));
  }
  const auto bytes = static_cast<std::int64_t>(files.data_bytes());
  if (index.total_size.value_or(bytes) != bytes) {
    return fail(checkpoint_error(index_file, "total_size is " + std::to_string(*index.total_size) +
                                                 ", but the shards hold " + std::to_string(bytes) +
                                                 " bytes of tensors."));
  }
  return {};
}

}  // namespace

std::uint64_t stored_tensor::count() const {
  std::uint64_t n = 1;
  for (const auto extent : shape) n *= static_cast<std::uint64_t>(extent);
  return n;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "[";
  for (const auto extent : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(extent);
  return out + "]";
}

result<mapped_file> mapped_file::open(const std::filesystem::path& path) {
  const auto name = path.filename().string();
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (descriptor < 0 || ::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    if (descriptor >= 0) ::close(descriptor);
    return fail(checkpoint_error(name, "The file cannot be opened."));
  }
  mapped_file file;
  file.size_ = static_cast<std::size_t>(about.st_size);
  if (file.size_ > 0) {
    void* at = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (at != MAP_FAILED) file.data_ = static_cast<const std::byte*>(at);
  }
  ::close(descriptor);
  if (file.size_ > 0 && file.data_ == nullptr) {
    file.size_ = 0;
    return fail(checkpoint_error(name, "The file cannot be mapped into memory."));
  }
  return file;
}

mapped_file::~mapped_file() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : data_{std::exchange(other.data_, nullptr)}, size_{std::exchange(other.size_, 0)} {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void forget_pages(std::span<const std::byte> part) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(part.data() + part.size());
  if (!part.empty()) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

result<std::vector<stored_tensor>> read_safetensors_header(std::string_view file,
                                                           std::span<const std::byte> bytes) {
  const auto length = header_length(file, bytes);
  if (!length) return fail(length.error());
  const auto text = bytes.subspan(length_bytes, *length);
  const auto data = bytes.subspan(length_bytes + *length);
  const auto header = json::parse({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!header || !header->is_object()) {
    return fail(checkpoint_error(
        file, "The header is not a JSON object" + (header ? "." : ": " + header.error().text)));
  }
  const header_reader reader{file, data};
  std::vector<stored_tensor> tensors;
  for (const auto& entry : header->elements()) {
    if (entry.key() == "__metadata__") continue;
    auto t = reader.tensor(entry);
    if (!t) return fail(t.error());
    tensors.push_back(std::move(*t));
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return std::pair{a.data.data(), a.data.size()} < std::pair{b.data.data(), b.data.size()};
  });
  if (auto covered = check_cover(file, data, tensors); !covered) return fail(covered.error());
  return tensors;
}

result<tensor_files> tensor_files::open(const std::filesystem::path& folder) {
  tensor_files files;
  if (!std::filesystem::exists(folder / index_file)) {
    if (auto added = files.add_file(folder, "model.safetensors"); !added) {
      return fail(added.error());
    }
    return files;
  }
  const auto index = read_index(folder / index_file);
  if (!index) return fail(index.error());
  std::set<std::string> shards;
  for (const auto& [name, shard] : index->shard_of) shards.insert(shard);
  for (const auto& shard : shards) {
    if (auto added = files.add_file(folder, shard); !added) return fail(added.error());
  }
  if (auto same = check_index(files, *index); !same) return fail(same.error());
  return files;
}

result<void> tensor_files::add_file(const std::filesystem::path& folder, const std::string& name) {
  auto map = mapped_file::open(folder / name);
  if (!map) return fail(map.error());
  auto tensors = read_safetensors_header(name, map->bytes());
  if (!tensors) return fail(tensors.error());
  const auto file = static_cast<std::uint32_t>(names_.size());
  names_.push_back(name);
  maps_.push_back(std::move(*map));
  for (auto& t : *tensors) {
    t.file = file;
    const auto [there, added] = by_name_.emplace(t.name, tensors_.size());
    if (!added) {
      return fail(checkpoint_error(
          name, "Tensor " + t.name + " is also in " + file_of(tensors_[there->second]) + "."));
    }
    tensors_.push_back(std::move(t));
  }
  return {};
}

const stored_tensor* tensor_files::find(std::string_view name) const {
  const auto at = by_name_.find(std::string{name});
  return at == by_name_.end() ? nullptr : &tensors_[at->second];
}

std::uint64_t tensor_files::data_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& t : tensors_) bytes += t.data.size();
  return bytes;
}

}  // namespace glimmer
