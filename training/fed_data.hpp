// SPDX-License-Identifier: BSD-3-Clause
// Digests of the data that a rank was fed: taken of the tensors themselves, when they are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/hash.hpp"
#include "training/microbatch.hpp"

namespace plumbline {

/// Digest of the int64 tensor 2 x batch x sequence: ids, then labels (docs/record-format.md, data_digest). Both are on
/// the host.
std::string data_digest(const Microbatch& data);

class FedData {
 public:
  explicit FedData(std::int64_t microbatches) : digests_(static_cast<std::size_t>(microbatches)) {}

  /// A microbatch about to be used. A rank that holds the first and the last stage takes each twice; throws
  /// std::logic_error where the two differ, and where one is not of the plan.
  void take(std::int64_t microbatch, const Microbatch& data);
  /// Ends the step: its digests by microbatch, empty for those that the rank was not fed.
  std::vector<std::string> end_step();
  /// Of all steps that ended: XXH3-128 of the microbatches' digests, 32 digits each, one after the other; nothing where
  /// the rank was fed none.
  std::optional<std::string> digest() const;

 private:
  std::vector<std::string> digests_;
  Hasher all_;
  bool any_ = false;
};

}  // namespace plumbline
