// SPDX-License-Identifier: BSD-3-Clause
#include "support/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/mapped_file.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

static_assert(std::endian::native == std::endian::little, "the container is little-endian and is mapped as it is");

struct Dtype {
  const char* ours;
  const char* theirs;
};
constexpr std::array<Dtype, 5> dtypes{
    {{"float32", "F32"}, {"float64", "F64"}, {"bfloat16", "BF16"}, {"float16", "F16"}, {"int64", "I64"}}};

constexpr std::uint64_t length_bytes = 8;            // the file begins with the header's length
constexpr std::uint64_t longest_header = 100000000;  // the limit of the reference implementation

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw InputError(fmt::format("{}: {}", path.string(), what));
}

/// A tensor's validated header entry, and its offsets in the data part.
struct Described {
  SafetensorsEntry entry;
  std::uint64_t begin = 0, end = 0;
};

Described describe(const std::filesystem::path& path, const std::string& name, const Json& json) {
  const std::string tensor = "tensor " + name;
  const auto unsigned_array = [](const Json& array) {
    return array.is_array() &&
           std::all_of(array.begin(), array.end(), [](const Json& v) { return v.is_number_unsigned(); });
  };
  if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string() || !json.contains("shape") ||
      !unsigned_array(json["shape"]) || !json.contains("data_offsets") || !unsigned_array(json["data_offsets"]) ||
      json["data_offsets"].size() != 2)
    fail(path, tensor + ": the header must give dtype, shape and two data_offsets");

  Described described;
  const std::string theirs = json["dtype"];
  const auto dtype = std::find_if(dtypes.begin(), dtypes.end(), [&](const Dtype& d) { return d.theirs == theirs; });
  if (dtype == dtypes.end())
    fail(path, fmt::format("{}: dtype {} is not known; known: F32, F64, BF16, F16, I64", tensor, theirs));
  described.entry.dtype = dtype->ours;
  // Checks each factor, so that an overflowing product cannot pass as a small one.
  std::uint64_t bytes = dtype_size(dtype->ours);
  bool too_large = false;
  bool empty = false;
  for (const Json& json_size : json["shape"]) {
    const std::uint64_t size = json_size;
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    empty = empty || size == 0;
    too_large = too_large || size > largest || (size > 0 && bytes > largest / size);
    if (!too_large && size > 0) bytes *= size;
    described.entry.shape.push_back(static_cast<std::int64_t>(size));
  }
  if (too_large) fail(path, fmt::format("{}: shape {} is too large", tensor, json_text(json["shape"])));
  if (empty) bytes = 0;
  described.begin = json["data_offsets"][0];
  described.end = json["data_offsets"][1];
  if (described.end < described.begin || described.end - described.begin != bytes)
    fail(path, fmt::format("{}: {} of shape [{}] takes {} bytes, its data_offsets are {}", tensor, theirs,
                           shape_text(described.entry.shape), bytes, json_text(json["data_offsets"])));
  return described;
}

}  // namespace

struct SafetensorsFile::Mapping {
  std::filesystem::path path;
  std::map<std::string, SafetensorsEntry> entries;
  MappedFile file;

  explicit Mapping(const std::filesystem::path& from) : path(from), file(from) {
    if (file.bytes().empty()) fail(path, "is empty; it is truncated");
    const std::byte* bytes = file.bytes().data();
    const std::size_t size = file.bytes().size();
    std::uint64_t header_length = 0;
    if (size < length_bytes) fail(path, "is shorter than 8 bytes; it is truncated or not a safetensors file");
    std::memcpy(&header_length, bytes, length_bytes);
    if (header_length > longest_header || header_length > size - length_bytes)
      fail(path,
           fmt::format("announces a header of {} bytes in a file of {}; it is truncated or not a safetensors file",
                       header_length, size));
    const std::span data(bytes + length_bytes + header_length, size - length_bytes - header_length);

    const auto* text = reinterpret_cast<const char*>(bytes + length_bytes);
    const Json header = parse_json(path.string() + ", header", {text, header_length});
    if (!header.is_object()) fail(path, "the header is not a JSON object");

    std::vector<std::pair<std::string, Described>> by_place;
    for (const auto& [name, json] : header.items())
      if (name != "__metadata__") by_place.emplace_back(name, describe(path, name, json));
    std::sort(by_place.begin(), by_place.end(), [](const auto& a, const auto& b) {
      return std::pair(a.second.begin, a.second.end) < std::pair(b.second.begin, b.second.end);
    });
    std::uint64_t expected = 0;  // no overlaps and no holes: every byte belongs to one tensor
    for (auto& [name, described] : by_place) {
      if (described.begin != expected)
        fail(path, fmt::format("tensor {}: begins at data byte {}, the previous one ends at {}", name, described.begin,
                               expected));
      expected = described.end;
      if (expected > data.size())
        fail(path,
             fmt::format("tensor {}: ends at data byte {} of {}; the file is truncated", name, expected, data.size()));
      described.entry.bytes = data.subspan(described.begin, described.end - described.begin);
      entries.emplace(name, std::move(described.entry));
    }
    if (expected != data.size())
      fail(path, fmt::format("{} bytes after the last tensor belong to no tensor", data.size() - expected));
  }
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : mapping_(std::make_shared<Mapping>(path)) {}

const std::map<std::string, SafetensorsEntry>& SafetensorsFile::entries() const {
  return mapping_->entries;
}

const SafetensorsEntry& SafetensorsFile::at(const std::string& name) const {
  const auto found = mapping_->entries.find(name);
  if (found != mapping_->entries.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, entry] : mapping_->entries) names.push_back(known);
  const auto nearest = nearest_word(name, names);
  fail(mapping_->path, fmt::format("holds no tensor {}{}", name, nearest ? "; the nearest name is " + *nearest : ""));
}

const std::filesystem::path& SafetensorsFile::path() const {
  return mapping_->path;
}

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedBytes>& tensors) {
  write_safetensors(path, tensors, [&](std::size_t i) { return tensors[i].entry.bytes; });
}

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedBytes>& tensors,
                       const BytesOfTensor& bytes_of) {
  // Text instead of a JSON object, which searches all its keys on each insertion.
  std::string text = R"({"__metadata__":{"format":"pt"})";  // transformers refuses a file without it
  std::unordered_set<std::string_view> names{"__metadata__"};
  std::uint64_t offset = 0;
  const auto refuse = [&](const NamedBytes& tensor, std::uint64_t bytes) {
    throw std::logic_error(
        fmt::format("tensor {} for {}: dtype {}, shape [{}] and {} bytes do not match, or the name is listed twice",
                    tensor.name, path.string(), tensor.entry.dtype, shape_text(tensor.entry.shape), bytes));
  };
  std::vector<std::uint64_t> sizes;
  for (const NamedBytes& tensor : tensors) {
    const SafetensorsEntry& entry = tensor.entry;
    const auto dtype =
        std::find_if(dtypes.begin(), dtypes.end(), [&](const Dtype& d) { return d.ours == entry.dtype; });
    std::uint64_t bytes = dtype_size(entry.dtype);
    for (const std::int64_t size : entry.shape) bytes *= static_cast<std::uint64_t>(size);
    if (dtype == dtypes.end() || !names.insert(tensor.name).second) refuse(tensor, bytes);
    text += "," + json_text(tensor.name) + ":" +
            json_text({{"dtype", dtype->theirs}, {"shape", entry.shape}, {"data_offsets", {offset, offset + bytes}}});
    offset += bytes;
    sizes.push_back(bytes);
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data part
  const std::uint64_t length = text.size();
  write_file_pieces(path, tensors.size() + 2, [&](std::size_t piece) -> std::string_view {
    if (piece == 0) return {reinterpret_cast<const char*>(&length), length_bytes};
    if (piece == 1) return text;
    const std::span<const std::byte> bytes = bytes_of(piece - 2);
    if (bytes.size() != sizes[piece - 2]) refuse(tensors[piece - 2], bytes.size());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  });
}

}  // namespace plumbline
