// SPDX-License-Identifier: BSD-3-Clause
// A set of (stage, microbatch) pairs, one bit each, so that 4 million pairs stay small.
#pragma once

#include <cstdint>
#include <vector>

namespace plumbline {

class MicrobatchSet {
 public:
  MicrobatchSet(std::int32_t stages, std::int32_t microbatches)
      : microbatches_(microbatches), bits_(index(stages, 0), false) {}

  bool has(std::int32_t stage, std::int32_t microbatch) const { return bits_[index(stage, microbatch)]; }
  /// False if the pair was already present.
  bool add(std::int32_t stage, std::int32_t microbatch) {
    const bool is_new = !has(stage, microbatch);
    bits_[index(stage, microbatch)] = true;
    return is_new;
  }

 private:
  std::size_t index(std::int32_t stage, std::int32_t microbatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(microbatches_) +
           static_cast<std::size_t>(microbatch);
  }
  std::int32_t microbatches_;
  std::vector<bool> bits_;
};

}  // namespace plumbline
