// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/request/token_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <regex>
#include <span>
#include <tuple>
#include <utility>

#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/ignored_label.hpp"

namespace plumbline::judging {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t header_ints = 256;

std::uint64_t little_endian(const unsigned char* bytes, std::int64_t width) {
  std::uint64_t number = 0;
  for (std::int64_t i = width - 1; i >= 0; --i) number = number << 8 | bytes[i];
  return number;
}

std::int64_t size_of(const fs::path& file, std::int64_t asked) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) throw InputError(fmt::format("{}: the data cannot be read again ({})", file.string(), error.message()));
  if (static_cast<std::int64_t>(size) != asked) {
    throw InputError(
        fmt::format("{}: has {} bytes, but had {} when the run was requested", file.string(), size, asked));
  }
  return asked;
}

/// The window at index `place` of an epoch of `all` windows (docs/data.md, "Windows in another order").
std::int64_t shuffled(std::uint64_t seed, std::int64_t epoch, std::int64_t place, std::int64_t all) {
  std::uint64_t bits = 0;  // bits of each half
  while (bits < 32 && std::uint64_t{1} << (2 * bits) < static_cast<std::uint64_t>(all)) ++bits;
  const std::uint64_t size = std::uint64_t{1} << bits;
  for (;;) {
    auto high = static_cast<std::uint64_t>(place) / size, low = static_cast<std::uint64_t>(place) % size;
    for (const char* round : {"0", "1", "2", "3"}) {
      const std::uint64_t hash = hash64("windows/" + std::to_string(seed) + "/" + std::to_string(epoch) + "/" + round +
                                        "/" + std::to_string(low));
      const std::uint64_t next = high ^ (hash % size);
      high = low;
      low = next;
    }
    place = static_cast<std::int64_t>(high * size + low);
    if (place < all) return place;
  }
}

}  // namespace

TokenFile::TokenFile(const fs::path& path, std::int64_t bytes, const std::string& format)
    : path_(path), stream_(path, std::ios::binary), bytes_(bytes) {
  const fs::path index = fs::path(path).replace_extension(".idx");
  if (format != "bytes") {
    width_ = format == "uint32" ? 4 : 2;
    if (path.extension() == ".bin" && fs::exists(index)) {
      set_type_by_index(index);
    } else if (take_header() || take_numpy_header()) {
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

/// numpy's .npy: "\x93NUMPY", version, length of a header that is a Python dict with the keys descr and shape.
bool TokenFile::take_numpy_header() {
  constexpr std::int64_t fixed = 12;  // with a length of 4 bytes; version 1 has 2
  if (bytes_ < fixed) return false;
  const auto head = read(0, fixed);
  if (std::memcmp(head.data(), "\x93NUMPY", 6) != 0) return false;
  const std::int64_t length_bytes = head[6] == 1 ? 2 : 4;
  begin_ = 8 + length_bytes + static_cast<std::int64_t>(little_endian(head.data() + 8, length_bytes));
  const auto header = read(0, std::min<std::int64_t>(bytes_, 1024));  // padding ends the header
  static const std::regex list(R"('descr': '[<|]([ui])([1248])'.*'shape': \((\d{1,18}),\))");
  std::cmatch match;
  const auto* text = reinterpret_cast<const char*>(header.data());
  if (!std::regex_search(text, text + std::min(begin_, std::ssize(header)), match, list))
    throw InputError(path_.string() + ": is a numpy array, but not of integers in one dimension");
  signed_ = match[1].str() == "i";
  width_ = std::stoll(match[2].str());
  tokens_ = std::stoll(match[3].str());
  if (tokens_ > bytes_ || tokens_ * width_ != bytes_ - begin_)
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

TokenList::TokenList(const std::vector<fs::path>& files, const std::vector<std::int64_t>& sizes,
                     const std::string& format, const char* whose) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    TokenFile file(files[i], size_of(files[i], sizes.at(i)), format);
    const std::int64_t first = size_;
    size_ += file.tokens();
    if (size_ > first) parts_.push_back({std::move(file), first});
  }
  if (size_ == 0) throw InputError(fmt::format("the requested {} holds no token", whose));
}

std::vector<std::int64_t> TokenList::ids(std::int64_t position, std::int64_t count) {
  std::vector<std::int64_t> found;
  while (std::ssize(found) < count) {
    const std::int64_t at = (position + std::ssize(found)) % size_;
    auto part = std::prev(std::ranges::find_if(parts_, [&](const Part& each) { return each.first > at; }));
    const std::int64_t end = std::next(part) == parts_.end() ? size_ : std::next(part)->first;
    const auto take = std::min(count - std::ssize(found), end - at);
    part->file.append(at - part->first, take, found);
  }
  return found;
}

TokenSource::TokenSource(const RequestedData& data, const std::vector<RequestedMicrobatch>& microbatches)
    : microbatches_(microbatches),
      tokens_(data.files, data.sizes, data.format, "data"),
      windows_(data.shuffle == "windows"),
      seed_(data.seed) {
  if (!data.ignore.empty()) {
    ignored_.emplace(data.ignore, data.ignore_sizes, "bytes", "data.ignore");
    if (ignored_->size() != tokens_.size())
      throw InputError(fmt::format("data.ignore has {} bytes for {} tokens", ignored_->size(), tokens_.size()));
  }
  offsets_.push_back(0);
  rows_.push_back(0);
  for (const auto& microbatch : microbatches_) {
    offsets_.push_back(std::accumulate(microbatch.lengths.begin(), microbatch.lengths.end(), offsets_.back()));
    rows_.push_back(rows_.back() + std::ssize(microbatch.lengths));
    longest_ = std::max(longest_, std::ranges::max(microbatch.lengths));
  }
  if (windows_ && tokens_.size() <= longest_) throw InputError("the requested data holds no window of its longest row");
  start_ = static_cast<std::int64_t>(hash64("data/" + std::to_string(data.seed)) %
                                     static_cast<std::uint64_t>(tokens_.size()));
}

std::int64_t TokenSource::begin(std::int64_t step, std::int64_t microbatch, std::int64_t row,
                                std::int64_t before) const {
  const auto number = static_cast<std::size_t>(microbatch);
  if (!windows_) return start_ + step * offsets_.back() + offsets_.at(number) + before;
  const std::int64_t drawn = step * rows_.back() + rows_.at(number) + row, all = (tokens_.size() - 1) / longest_;
  return longest_ * shuffled(seed_, drawn / all, drawn % all, all);
}

std::vector<std::int64_t> TokenSource::numbers(std::int64_t step, std::int64_t microbatch) {
  const auto& asked = microbatches_.at(static_cast<std::size_t>(microbatch));
  const auto sequence = std::ranges::max(asked.lengths);
  const auto half = static_cast<std::size_t>(std::ssize(asked.lengths) * sequence);
  std::vector<std::int64_t> numbers(half, 0);  // padding has id 0
  numbers.resize(2 * half, ignored_label);
  std::int64_t before = 0;
  for (std::int64_t row = 0; row < std::ssize(asked.lengths); ++row) {
    const std::int64_t length = asked.lengths[static_cast<std::size_t>(row)];
    const std::int64_t position = begin(step, microbatch, row, before);
    const auto tokens = tokens_.ids(position, length + 1);  // labels need one token more
    const auto ignored = ignored_ ? ignored_->ids(position, length + 1) : std::vector<std::int64_t>(tokens.size(), 0);
    const auto place = static_cast<std::size_t>(row * sequence);
    for (std::size_t i = 0; i < static_cast<std::size_t>(length); ++i) {
      numbers[place + i] = tokens[i];
      if (!asked.masked && ignored[i + 1] == 0) numbers[half + place + i] = tokens[i + 1];
    }
    before += length;
  }
  return numbers;
}

std::string TokenSource::data_digest(std::int64_t step, std::int64_t microbatch) {
  const auto& lengths = microbatches_.at(static_cast<std::size_t>(microbatch)).lengths;
  const auto both = numbers(step, microbatch);
  return tensor_digest("int64", {2, std::ssize(lengths), std::ranges::max(lengths)}, std::as_bytes(std::span(both)));
}

std::int64_t TokenSource::valid_tokens(std::int64_t step, std::int64_t microbatch) {
  const auto both = numbers(step, microbatch);
  return std::ssize(both) / 2 - std::ranges::count(both, std::int64_t{ignored_label});
}

}  // namespace plumbline::judging
