// SPDX-License-Identifier: BSD-3-Clause
#include "training/token_format.hpp"

#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "support/error.hpp"
#include "support/mapped_file.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"

namespace plumbline {

namespace {

namespace fs = std::filesystem;

using Bytes = std::span<const std::byte>;

[[noreturn]] void refuse_file(const fs::path& path, const std::string& what) {
  throw InputError(path.string() + ": " + what);
}

/// A little-endian number at `offset`; the caller has checked the bounds.
template <typename Number>
Number number_at(Bytes bytes, std::size_t offset) {
  Number number{};
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

bool begins_with(Bytes bytes, std::string_view begin) {
  return bytes.size() >= begin.size() && std::memcmp(bytes.data(), begin.data(), begin.size()) == 0;
}

/// 256 int32: magic, version, number of ids, zeros. Source: dev/data/data_common.py of github.com/karpathy/llm.c.
struct LlmcHeader {
  std::int32_t magic;
  std::int32_t version;
  std::int64_t width;
};
constexpr std::size_t llmc_header_bytes = 256 * sizeof(std::int32_t);
constexpr LlmcHeader llmc_headers[] = {{20240520, 1, 2}, {20240801, 7, 4}};

std::optional<TokenFormat> llmc_format(const fs::path& path, Bytes bytes) {
  if (bytes.size() < sizeof(std::int32_t)) return std::nullopt;
  const auto magic = number_at<std::int32_t>(bytes, 0);
  for (const LlmcHeader& header : llmc_headers) {
    if (magic != header.magic) continue;
    const std::string whose = "begins with the magic number " + std::to_string(magic) + " of llm.c's token files";
    if (bytes.size() < llmc_header_bytes) {
      refuse_file(path, whose + " and ends within its header of " + std::to_string(llmc_header_bytes) +
                            " bytes: the file is truncated");
    }
    const auto version = number_at<std::int32_t>(bytes, sizeof(std::int32_t));
    if (version != header.version) {
      refuse_file(path, whose + ", version " + std::to_string(version) + "; supported is version " +
                            std::to_string(header.version));
    }
    TokenFormat format;
    format.offset = llmc_header_bytes;
    format.width = header.width;
    format.count = number_at<std::int32_t>(bytes, 2 * sizeof(std::int32_t));
    const auto held = static_cast<std::int64_t>(bytes.size() - llmc_header_bytes);
    if (format.count < 0 || format.count * format.width != held) {
      refuse_file(path, "its header counts " + std::to_string(format.count) + " ids, and " + std::to_string(held) +
                            " bytes follow, which is " + std::to_string(held / format.width) +
                            ": the file is truncated, or was not written to its end");
    }
    return format;
  }
  return std::nullopt;
}

/// The text after `key` in the header of a .npy, up to and with `end`; empty if there is none.
std::string_view header_value(std::string_view header, std::string_view key, char end) {
  const auto begin = header.find(key);
  if (begin == std::string_view::npos) return {};
  header.remove_prefix(begin + key.size());
  return header.substr(0, header.find(end) + 1);
}

/// Magic (6 bytes), version (2), length of the header (2 bytes, 4 from version 2 on), the header as a Python dict:
/// {'descr': '<u2', 'fortran_order': False, 'shape': (4096,), }. Source: numpy/lib/format.py of github.com/numpy/numpy.
std::optional<TokenFormat> numpy_format(const fs::path& path, Bytes bytes) {
  constexpr std::string_view magic = "\x93NUMPY";
  if (!begins_with(bytes, magic)) return std::nullopt;
  const auto size = bytes.size();
  const bool short_length = size > magic.size() && bytes[magic.size()] == std::byte{1};  // version 1
  const std::size_t length_at = magic.size() + 2, header_at = length_at + (short_length ? 2 : 4);
  std::size_t length = size;
  if (header_at <= size) {
    length = short_length ? number_at<std::uint16_t>(bytes, length_at) : number_at<std::uint32_t>(bytes, length_at);
  }
  if (header_at + length > size) {
    refuse_file(path, "is a numpy array (.npy) and ends within its header: the file is truncated");
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + header_at, length);
  static const std::map<std::string_view, std::pair<std::int64_t, bool>> types = {
      {"|u1'", {1, false}}, {"|i1'", {1, true}}, {"<u2'", {2, false}}, {"<i2'", {2, true}},
      {"<u4'", {4, false}}, {"<i4'", {4, true}}, {"<u8'", {8, false}}, {"<i8'", {8, true}}};
  const std::string_view shape = header_value(header, "'shape': (", ')');
  const auto type = types.find(header_value(header, "'descr': '", '\''));
  const auto count =
      shape.ends_with(",)") ? parse_integer(std::string(shape.substr(0, shape.size() - 2))) : std::nullopt;
  if (type == types.end() || !count) {
    refuse_file(path, "is a numpy array of " + std::string(header.substr(0, header.find('}') + 1)) +
                          "; ids must be little-endian integers in one dimension: "
                          "numpy.save(path, array.astype(\"<u4\").reshape(-1)) writes that");
  }
  TokenFormat format;
  format.offset = static_cast<std::int64_t>(header_at + length);
  std::tie(format.width, format.is_signed) = type->second;
  format.count = *count;
  const std::int64_t held = static_cast<std::int64_t>(size) - format.offset;
  if (held % format.width != 0 || held / format.width != format.count) {
    refuse_file(path, "its header counts " + std::to_string(format.count) + " ids of " + format.type() + ", and " +
                          std::to_string(held) + " bytes follow: the file is truncated, or was not written to its end");
  }
  return format;
}

/// By the index's code. Source: megatron/core/datasets/indexed_dataset.py of github.com/NVIDIA/Megatron-LM, DType.
void set_megatron_type(const fs::path& index, int code, TokenFormat& format) {
  switch (code) {
    case 1:
      format.width = 1;
      return;
    case 2:
    case 3:
    case 4:
    case 5:
      format.width = std::int64_t{1} << (code - 2);
      format.is_signed = true;
      return;
    case 8:
      format.width = 2;
      return;
    default:
      refuse_file(index, "dtype " + std::to_string(code) + " is not one of Megatron's integers (1 to 5, 8)");
  }
}

/// Magic (9 bytes), version, dtype, numbers of sequences and documents; then a length and an offset in the .bin per
/// sequence, the number of the first sequence of each document, and optionally a byte per sequence.
TokenFormat megatron_format(const fs::path& bin, Bytes bin_bytes, const fs::path& index) {
  const MappedFile file(index);
  const Bytes bytes = file.bytes();
  constexpr std::size_t magic_bytes = 9, header_bytes = magic_bytes + 8 + 1 + 8 + 8;
  if (bytes.size() < header_bytes || std::memcmp(bytes.data(), "MMIDIDX\0", magic_bytes) != 0) {
    refuse_file(index, "is not a Megatron index (MMIDIDX), or ends within its header; " + bin.string() +
                           " is next to it and would be read with it: move one of them away");
  }
  const auto version = number_at<std::uint64_t>(bytes, magic_bytes);
  if (version != 1) refuse_file(index, "is of version " + std::to_string(version) + "; supported is version 1");
  TokenFormat format;
  set_megatron_type(index, number_at<std::uint8_t>(bytes, magic_bytes + 8), format);
  const auto sequences = number_at<std::uint64_t>(bytes, magic_bytes + 9);
  const auto documents = number_at<std::uint64_t>(bytes, magic_bytes + 17);
  const std::uint64_t rest = bytes.size() - header_bytes;
  const bool fits = sequences <= rest / 12 && documents <= rest / 8;
  const std::uint64_t listed = fits ? 12 * sequences + 8 * documents : 0;
  if (!fits || (rest != listed && rest != listed + sequences)) {
    refuse_file(index,
                "names " + std::to_string(sequences) + " sequences and " + std::to_string(documents) +
                    " documents, and " + std::to_string(rest) + " bytes follow: the file " +
                    (fits && rest > listed ? "has extra bytes, or was not written by Megatron" : "is truncated"));
  }
  if (sequences == 0) refuse_file(bin, "the file holds no tokens");
  const auto first = number_at<std::int64_t>(bytes, header_bytes + 4 * sequences);
  const auto last = number_at<std::int64_t>(bytes, header_bytes + 4 * sequences + 8 * (sequences - 1));
  const std::int64_t last_length = number_at<std::int32_t>(bytes, header_bytes + 4 * (sequences - 1));
  const auto size = static_cast<std::int64_t>(bin_bytes.size());
  const bool ends = last >= 0 && last <= size && last_length >= 0 && last_length * format.width == size - last;
  if (first != 0 || !ends || size % format.width != 0) {
    refuse_file(bin, "has " + std::to_string(size) + " bytes, and by " + index.string() +
                         " its sequences begin at byte " + std::to_string(first) + ", and the last, of " +
                         std::to_string(last_length) + " ids of " + format.type() + ", at byte " +
                         std::to_string(last) + ": the file is truncated, or the two do not belong together");
  }
  format.count = size / format.width;
  return format;
}

/// Known files that hold no plain list of ids, by their first bytes.
void refuse_other_formats(const fs::path& path, Bytes bytes) {
  constexpr std::pair<std::string_view, const char*> formats[] = {{"PK\3\4", "a zip archive (.npz, or torch.save's)"},
                                                                  {"\x1f\x8b\x08", "compressed by gzip"},
                                                                  {"\x28\xb5\x2f\xfd", "compressed by zstd"},
                                                                  {"PAR1", "a Parquet file"},
                                                                  {"ARROW1", "an Arrow file"},
                                                                  {"\x89HDF\r\n", "an HDF5 file"}};
  for (const auto& [begin, what] : formats) {
    if (begins_with(bytes, begin)) {
      refuse_file(path, std::string("is ") + what + ", not a list of ids; numpy.save(path, ids) writes one");
    }
  }
}

TokenFormat raw_format(const fs::path& path, Bytes bytes, const std::string& token_type) {
  refuse_other_formats(path, bytes);
  TokenFormat format;
  format.width = token_type == "uint32" ? 4 : 2;
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (size % format.width != 0) {
    refuse_file(path, std::to_string(size) + " bytes are not a whole number of " + token_type +
                          " tokens: the file is truncated or of another token_type");
  }
  format.count = size / format.width;
  return format;
}

}  // namespace

std::string TokenFormat::type() const {
  return std::string(is_signed ? "int" : "uint").append(std::to_string(8 * width));
}

std::optional<fs::path> index_beside(const fs::path& path) {
  fs::path index = path;
  index.replace_extension(".idx");
  return path.extension() == ".bin" && path_exists(index) ? std::optional(index) : std::nullopt;
}

TokenFormat token_format(const fs::path& path, std::span<const std::byte> bytes,
                         const std::optional<std::string>& token_type) {
  TokenFormat format;
  if (const auto index = index_beside(path)) {
    format = megatron_format(path, bytes, *index);
  } else if (const auto llmc = llmc_format(path, bytes)) {
    format = *llmc;
  } else if (const auto numpy = numpy_format(path, bytes)) {
    format = *numpy;
  } else {
    format = raw_format(path, bytes, token_type.value_or("uint16"));
  }
  if (format.count == 0) refuse_file(path, "the file holds no tokens");
  if (token_type && format.type() != *token_type) {
    refuse_file(
        path, "holds " + format.type() + " by its header, but data.token_type is " + *token_type + "; remove that key");
  }
  return format;
}

}  // namespace plumbline
