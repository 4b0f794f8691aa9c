// SPDX-License-Identifier: BSD-3-Clause
// Digests of a rank's input data, computed from the tensors when they are used.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "training/microbatch.hpp"

namespace plumbline {

/// Digest of the int64 tensor 2 x batch x sequence: ids, then labels (docs/record-format.md, data_digest). Both are on
/// the host.
std::string data_digest(const Microbatch& data);

class DataDigests {
 public:
  explicit DataDigests(std::int64_t microbatches) : digests_(static_cast<std::size_t>(microbatches)) {}

  /// Adds a microbatch that is about to be used. A rank that holds the first and the last stage adds each twice. Throws
  /// std::logic_error if the two differ, or if the microbatch is not in the plan.
  void add(std::int64_t microbatch, const Microbatch& data);
  /// Ends the step: returns its digests by microbatch, empty for those not used on this rank.
  std::vector<std::string> end_step() { return std::exchange(digests_, std::vector<std::string>(digests_.size())); }

 private:
  std::vector<std::string> digests_;
};

}  // namespace plumbline
