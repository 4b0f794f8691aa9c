// SPDX-License-Identifier: BSD-3-Clause
// The input data of a microbatch, and its digest.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plumbline {

struct Microbatch {
  at::Tensor ids;                 ///< int64 [batch, sequence]; padding is id 0
  at::Tensor labels;              ///< int64 [batch, sequence], already shifted; -100 = not valid
  std::int64_t tokens = 0;        ///< real positions without padding
  std::int64_t valid_tokens = 0;  ///< labels other than -100
};

/// Copies its tensors to another device; does nothing on the CPU.
Microbatch to_device(Microbatch microbatch, at::Device device);

/// Digest of the int64 tensor 2 x batch x sequence: ids, then labels (docs/record-format.md, data_digest). Both are on
/// the host.
std::string data_digest(const Microbatch& data);

/// The digests of the microbatches that a rank used in a step.
class DataDigests {
 public:
  explicit DataDigests(std::int64_t microbatches) : digests_(static_cast<std::size_t>(microbatches)) {}

  /// Adds a microbatch that is about to be used. A rank with the first and the last stage adds each twice. Throws
  /// std::logic_error if the two differ, or if the microbatch is not in the plan.
  void add(std::int64_t microbatch, const Microbatch& data);
  /// Ends the step: returns its digests by microbatch, empty for those not used on this rank.
  std::vector<std::string> end_step() { return std::exchange(digests_, std::vector<std::string>(digests_.size())); }

 private:
  std::vector<std::string> digests_;
};

}  // namespace plumbline
