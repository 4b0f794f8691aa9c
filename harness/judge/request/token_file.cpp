// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/request/token_file.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline::judging {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t header_ints = 256;

std::uint64_t little_endian(const unsigned char* bytes, std::int64_t width) {
  std::uint64_t number = 0;
  for (std::int64_t i = width - 1; i >= 0; --i) number = number << 8 | bytes[i];
  return number;
}

}  // namespace

TokenFile::TokenFile(const fs::path& path, std::int64_t bytes, const std::string& format)
    : path_(path), stream_(path, std::ios::binary), bytes_(bytes) {
  const fs::path index = fs::path(path).replace_extension(".idx");
  if (format != "bytes") {
    width_ = format == "uint32" ? 4 : 2;
    if (path.extension() == ".bin" && fs::exists(index)) {
      set_type_by_index(index);
    } else if (take_header()) {
      return;
    }
  }
  if ((bytes_ - begin_) % width_ != 0) {
    throw InputError(fmt::format("{}: is not a whole number of ids of {} bytes", path_.string(), width_));
  }
  tokens_ = (bytes_ - begin_) / width_;
}

/// Byte 17 of the index is the type of the ids, by Megatron's numbers.
void TokenFile::set_type_by_index(const fs::path& index) {
  static const std::map<int, std::pair<std::int64_t, bool>> types = {{1, {1, false}}, {2, {1, true}}, {3, {2, true}},
                                                                     {4, {4, true}},  {5, {8, true}}, {8, {2, false}}};
  std::array<char, 18> head{};
  const bool whole = read_file_at(index, 0, head) == head.size();
  const auto type = whole ? types.find(static_cast<unsigned char>(head[17])) : types.end();
  if (type == types.end()) throw InputError(fmt::format("{}: is not an index of {}", index.string(), path_.string()));
  std::tie(width_, signed_) = type->second;
}

/// llm.c's header of 256 numbers of 32 bits: magic, version, count.
bool TokenFile::take_header() {
  if (bytes_ < 4 * header_ints) return false;
  const auto head = read(0, 12);
  const std::uint64_t magic = little_endian(head.data(), 4);
  if (magic != 20240520 && magic != 20240801) return false;
  begin_ = 4 * header_ints;
  width_ = magic == 20240520 ? 2 : 4;
  tokens_ = static_cast<std::int64_t>(little_endian(head.data() + 8, 4));
  if (tokens_ * width_ != bytes_ - begin_)
    throw InputError(path_.string() + ": holds other ids than its header counts");
  return true;
}

std::vector<unsigned char> TokenFile::read(std::int64_t offset, std::int64_t count) {
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
  stream_.clear();
  stream_.seekg(offset);
  stream_.read(reinterpret_cast<char*>(bytes.data()), count);
  if (stream_.gcount() != count) throw InputError(path_.string() + ": cannot be read to its end");
  return bytes;
}

void TokenFile::append(std::int64_t place, std::int64_t count, std::vector<std::int64_t>& ids) {
  const auto bytes = read(begin_ + place * width_, count * width_);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t number = little_endian(bytes.data() + i * width_, width_);
    const std::uint64_t sign = std::uint64_t{1} << (8 * width_ - 1);
    ids.push_back(static_cast<std::int64_t>(signed_ ? (number ^ sign) - sign : number));
  }
}

}  // namespace plumbline::judging
