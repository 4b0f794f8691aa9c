// SPDX-License-Identifier: BSD-3-Clause
#include "training/data_digests.hpp"

#include <span>
#include <stdexcept>

#include "record/digest.hpp"

namespace plumbline {

std::string data_digest(const Microbatch& data) {
  std::vector<std::int64_t> both;
  both.reserve(static_cast<std::size_t>(2 * data.ids.numel()));
  for (const at::Tensor& half : {data.ids, data.labels}) {
    const at::Tensor numbers = half.contiguous();
    const auto* first = numbers.const_data_ptr<std::int64_t>();
    both.insert(both.end(), first, first + numbers.numel());
  }
  return tensor_digest("int64", {2, data.ids.size(0), data.ids.size(1)}, std::as_bytes(std::span(both)));
}

void DataDigests::add(std::int64_t microbatch, const Microbatch& data) {
  std::string& known = digests_.at(static_cast<std::size_t>(microbatch));
  std::string digest = data_digest(data);
  if (!known.empty() && known != digest)
    throw std::logic_error("microbatch " + std::to_string(microbatch) + " was fed twice, with different data");
  known = std::move(digest);
}

std::vector<std::string> DataDigests::end_step() {
  for (const std::string& digest : digests_) {
    all_.update(digest);
    any_ = any_ || !digest.empty();
  }
  std::vector<std::string> ended(digests_.size());
  ended.swap(digests_);
  return ended;
}

std::optional<std::string> DataDigests::digest() const {
  return any_ ? std::optional(all_.hex()) : std::nullopt;
}

}  // namespace plumbline
