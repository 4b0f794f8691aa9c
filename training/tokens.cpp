// SPDX-License-Identifier: BSD-3-Clause
#include "training/tokens.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "support/error.hpp"

namespace plumbline {

namespace {

static_assert(std::endian::native == std::endian::little, "ids are little-endian and read unconverted");

template <typename Id>
void widen(const std::byte* from, std::span<std::int64_t> into) {
  for (std::int64_t& id : into) {
    Id read{};  // ids are unaligned in the files
    std::memcpy(&read, from, sizeof read);
    from += sizeof read;
    id = static_cast<std::int64_t>(read);
  }
}

void widen(const TokenFormat& format, const std::byte* from, std::span<std::int64_t> into) {
  switch (format.width) {
    case 1:
      return format.is_signed ? widen<std::int8_t>(from, into) : widen<std::uint8_t>(from, into);
    case 2:
      return format.is_signed ? widen<std::int16_t>(from, into) : widen<std::uint16_t>(from, into);
    case 4:
      return format.is_signed ? widen<std::int32_t>(from, into) : widen<std::uint32_t>(from, into);
    case 8:
      return widen<std::int64_t>(from, into);
    default:
      throw std::logic_error("tokens of " + std::to_string(format.width) + " bytes");
  }
}

}  // namespace

void refuse_beyond_vocabulary(const std::filesystem::path& path, const std::string& unit, std::int64_t place,
                              std::int64_t id, std::int64_t vocab_size) {
  throw InputError(path.string() + ": token " + std::to_string(id) + " at " + unit + " " + std::to_string(place) +
                   " is beyond the model's vocabulary of " + std::to_string(vocab_size) +
                   "; use a model with a larger vocab_size or data made for this one");
}

Tokens::Tokens(std::vector<std::int32_t> ids) {
  const auto kept = std::make_shared<const std::vector<std::int32_t>>(std::move(ids));
  const auto count = static_cast<std::int64_t>(kept->size());
  parts_.push_back({"ids in memory", kept, reinterpret_cast<const std::byte*>(kept->data()), {0, 4, true, count}, 0});
  size_ = count;
}

void Tokens::add(const std::filesystem::path& path, std::shared_ptr<const MappedFile> file, const TokenFormat& format) {
  const std::byte* bytes = file->bytes().data() + format.offset;
  parts_.push_back({path, std::move(file), bytes, format, size_});
  size_ += format.count;
}

void Tokens::read(std::int64_t position, std::span<std::int64_t> into) const {
  position %= size_;
  auto part = std::prev(std::ranges::upper_bound(parts_, position, {}, &Part::first));
  while (!into.empty()) {
    const std::int64_t place = position - part->first;
    const std::size_t count = std::min(into.size(), static_cast<std::size_t>(part->format.count - place));
    read_part(*part, place, into.first(count));
    into = into.subspan(count);
    if (++part == parts_.end()) part = parts_.begin();
    position = part->first;
  }
}

void Tokens::read_part(const Part& part, std::int64_t place, std::span<std::int64_t> into) const {
  widen(part.format, part.bytes + place * part.format.width, into);
  const auto beyond = std::ranges::find_if(into, [&](std::int64_t id) { return id < 0 || id >= vocab_size_; });
  if (beyond == into.end()) return;
  refuse_beyond_vocabulary(part.path, "token", place + (beyond - into.begin()), *beyond, vocab_size_);
}

}  // namespace plumbline
