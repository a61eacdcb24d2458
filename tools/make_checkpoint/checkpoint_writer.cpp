#include "tools/make_checkpoint/checkpoint_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "model/checkpoint.hpp"
#include "tools/make_checkpoint/formats.hpp"
#include "tools/make_checkpoint/tokenizer_files.hpp"
#include "tools/make_checkpoint/weight_rule.hpp"

namespace glimmer {
namespace {

using tensor_list = std::span<const written_tensor>;

std::uint64_t data_bytes(tensor_list tensors) {
  std::uint64_t bytes = 0;
  for (const auto& t : tensors) bytes += t.bytes();
  return bytes;
}

error write_failed(const std::filesystem::path& path) {
  return checkpoint_error(path.filename().string(), "The file cannot be written.");
}

result<void> write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream out{path, std::ios::binary};
  out << text;
  out.close();
  if (!out) return fail(write_failed(path));
  return {};
}

/// Length and JSON, padded with blanks so that the data begins at a multiple of 8.
std::string safetensors_header(tensor_list tensors) {
  std::string text;
  json_writer w{text};
  w.begin_object();
  w.key("__metadata__").begin_object().key("format").string("pt").end_object();
  std::uint64_t offset = 0;
  for (const auto& t : tensors) {
    const auto end = offset + t.bytes();
    w.key(t.name).begin_object().key("dtype").string(t.type).key("shape").begin_array();
    for (const auto extent : t.shape) w.integer(extent);
    w.end_array().key("data_offsets").begin_array();
    w.unsigned_integer(offset).unsigned_integer(end).end_array().end_object();
    offset = end;
  }
  w.end_object();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length;
  for (int byte = 0; byte < 8; ++byte) {
    length += static_cast<char>(text.size() >> (8 * byte) & 0xFF);
  }
  return length + text;
}

/// Fills `out` with the tensor's elements from `first` on, one part per hardware thread.
void fill_in_parallel(const model_config& config, const expected_tensor& t, std::uint64_t first,
                      std::span<std::uint16_t> out) {
  const std::size_t parts = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t size = (out.size() + parts - 1) / parts;
  std::vector<std::jthread> workers;
  for (std::size_t begin = 0; begin < out.size(); begin += size) {
    const auto part = out.subspan(begin, std::min(size, out.size() - begin));
    if (begin + size >= out.size()) {
      fill_weights(config, t, first + begin, part);
    } else {
      workers.emplace_back(
          [&config, &t, part, at = first + begin] { fill_weights(config, t, at, part); });
    }
  }
}

result<void> write_weights(const std::filesystem::path& path, const model_config& config,
                           tensor_list tensors) {
  std::ofstream out{path, std::ios::binary};
  out << safetensors_header(tensors);
  std::vector<std::uint16_t> buffer(4 << 20);
  for (const auto& t : tensors) {
    if (t.what != written_tensor::part::plain) {
      const auto data = quantised_data(config, t);
      out.write(reinterpret_cast<const char*>(data.data()),
                static_cast<std::streamsize>(data.size()));
      continue;
    }
    const auto count = t.count();
    for (std::uint64_t first = 0; first < count; first += buffer.size()) {
      const std::span part{buffer.data(), std::min<std::uint64_t>(buffer.size(), count - first)};
      fill_in_parallel(config, t.source, first, part);
      const auto bytes = std::as_bytes(part);
      out.write(reinterpret_cast<const char*>(bytes.data()),
                static_cast<std::streamsize>(bytes.size()));
    }
  }
  out.close();
  if (!out) return fail(write_failed(path));
  return {};
}

std::string shard_name(std::size_t index, const write_options& options) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", index + 1, options.shards);
  return name;
}

/// Cuts the list where each shard holds its share of the bytes; every shard gets a tensor.
std::vector<tensor_list> split(tensor_list tensors, std::size_t shards) {
  const auto share = data_bytes(tensors) / shards;
  std::vector<tensor_list> parts;
  std::size_t begin = 0;
  for (std::size_t s = 0; s < shards; ++s) {
    std::size_t end = begin + 1;
    const auto others = shards - 1 - s;
    while (end + others < tensors.size() &&
           (others == 0 || data_bytes(tensors.subspan(begin, end - begin)) < share)) {
      ++end;
    }
    parts.push_back(tensors.subspan(begin, end - begin));
    begin = end;
  }
  return parts;
}

result<void> write_shards(const std::filesystem::path& folder, const model_config& config,
                          tensor_list tensors, const write_options& options) {
  if (options.shards > tensors.size()) {
    return fail(bad_value(
        "shards", "There are only " + std::to_string(tensors.size()) + " tensors for the shards."));
  }
  std::string index;
  json_writer w{index};
  w.begin_object().key("metadata").begin_object();
  w.key("total_size").unsigned_integer(data_bytes(tensors)).end_object();
  w.key("weight_map").begin_object();
  std::size_t shard = 0;
  for (const auto part : split(tensors, options.shards)) {
    const auto name = shard_name(shard++, options);
    if (auto written = write_weights(folder / name, config, part); !written) return written;
    for (const auto& t : part) w.key(t.name).string(name);
  }
  w.end_object().end_object();
  return write_text(folder / "model.safetensors.index.json", index);
}

result<void> make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return fail(write_failed(folder));
  return {};
}

}  // namespace

result<void> write_plain_checkpoint(const std::filesystem::path& folder, std::string_view config,
                                    std::span<const expected_tensor> tensors) {
  if (auto made = make_folder(folder); !made) return made;
  if (auto written = write_text(folder / "config.json", config); !written) return written;
  std::vector<written_tensor> plain;
  for (const auto& t : tensors) plain.push_back({t.name, "BF16", t.shape, t});
  return write_weights(folder / "model.safetensors", {}, plain);
}

result<void> write_checkpoint(const checkpoint_recipe& recipe, const std::filesystem::path& folder,
                              const write_options& options) {
  if (auto made = make_folder(folder); !made) return made;
  const std::pair<const char*, std::string> texts[] = {
      {"config.json", config_json(recipe)},
      {"generation_config.json", generation_config_json(recipe)},
      {"tokenizer.json", tokenizer_json(recipe)},
      {"tokenizer_config.json", tokenizer_config_json(recipe)},
  };
  for (const auto& [name, text] : texts) {
    if (auto written = write_text(folder / name, text); !written) return written;
  }
  const auto tensors = written_tensors(recipe);
  return options.shards > 0 ? write_shards(folder, recipe.config, tensors, options)
                            : write_weights(folder / "model.safetensors", recipe.config, tensors);
}

}  // namespace glimmer
