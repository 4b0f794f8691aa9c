#include "harness/judge/request/token_source.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"

namespace plumbline::judging {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t no_label = -100;

std::int64_t size_of(const fs::path& file, std::int64_t asked) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) throw InputError(file.string() + ": the data cannot be read again (" + error.message() + ")");
  if (static_cast<std::int64_t>(size) != asked) {
    throw InputError(file.string() + ": has " + std::to_string(size) + " bytes, and had " + std::to_string(asked) +
                     " when the run was asked for");
  }
  return asked;
}

}  // namespace

TokenSource::TokenSource(const RequestedData& data, const std::vector<RequestedMicrobatch>& microbatches)
    : microbatches_(microbatches), width_(data.format == "uint16" ? 2 : 1) {
  for (std::size_t i = 0; i < data.files.size(); ++i) {
    const auto bytes = size_of(data.files[i], data.sizes.at(i));
    if (bytes % width_ != 0) throw InputError(data.files[i].string() + ": is no whole number of uint16 ids");
    parts_.push_back({data.files[i], tokens_, std::ifstream(data.files[i], std::ios::binary)});
    tokens_ += bytes / width_;
  }
  if (tokens_ == 0) throw InputError("the data asked for holds no token");
  offsets_.push_back(0);
  for (const auto& microbatch : microbatches_) {
    offsets_.push_back(std::accumulate(microbatch.lengths.begin(), microbatch.lengths.end(), offsets_.back()));
  }
  start_ = static_cast<std::int64_t>(hash64("data/" + std::to_string(data.seed)) % static_cast<std::uint64_t>(tokens_));
}

std::vector<std::int64_t> TokenSource::ids(std::int64_t position, std::int64_t count) {
  std::vector<std::int64_t> found;
  while (std::ssize(found) < count) {
    const std::int64_t at = (position + std::ssize(found)) % tokens_;
    auto part =
        std::prev(std::find_if(parts_.begin(), parts_.end(), [&](const Part& each) { return each.first > at; }));
    const std::int64_t end = std::next(part) == parts_.end() ? tokens_ : std::next(part)->first;
    const auto take = std::min(count - std::ssize(found), end - at);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(take * width_));
    part->stream.clear();
    part->stream.seekg((at - part->first) * width_);
    part->stream.read(reinterpret_cast<char*>(bytes.data()), take * width_);
    if (part->stream.gcount() != take * width_) throw InputError(part->path.string() + ": cannot be read to its end");
    for (std::size_t i = 0; i < bytes.size(); i += static_cast<std::size_t>(width_)) {
      found.push_back(width_ == 1 ? bytes[i] : bytes[i] | bytes[i + 1] << 8);
    }
  }
  return found;
}

std::string TokenSource::data_digest(std::int64_t step, std::int64_t microbatch) {
  const auto& asked = microbatches_.at(static_cast<std::size_t>(microbatch));
  const auto batch = std::ssize(asked.lengths);
  const auto sequence = std::ranges::max(asked.lengths);
  const auto half = static_cast<std::size_t>(batch * sequence);
  std::vector<std::int64_t> numbers(half, 0);  // padding has id 0
  numbers.resize(2 * half, no_label);
  std::int64_t position = start_ + step * offsets_.back() + offsets_.at(static_cast<std::size_t>(microbatch));
  for (std::int64_t row = 0; row < batch; ++row) {
    const std::int64_t length = asked.lengths[static_cast<std::size_t>(row)];
    const auto tokens = ids(position, length + 1);  // the last label is one token further
    const auto place = static_cast<std::ptrdiff_t>(row * sequence);
    std::copy_n(tokens.begin(), length, numbers.begin() + place);
    if (!asked.masked)
      std::copy_n(tokens.begin() + 1, length, numbers.begin() + static_cast<std::ptrdiff_t>(half) + place);
    position += length;
  }
  return tensor_digest("int64", {2, batch, sequence}, std::as_bytes(std::span(numbers)));
}

}  // namespace plumbline::judging
