// SPDX-License-Identifier: BSD-3-Clause
// All tensors that the ranks of a run dumped in one step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/safetensors.hpp"

namespace plumbline {

struct DumpedTensor {
  std::int64_t rank = 0;
  SafetensorsEntry entry;  ///< its bytes are valid while the DumpedStep lives

  bool equals(const DumpedTensor& other) const;  ///< dtype, shape and bits
};

/// A boundary tensor: "boundary/<direction>/<microbatch>/<cut>/<side>".
struct CrossingKey {
  std::int64_t microbatch = 0;
  std::string direction, cut, side;
};
std::optional<CrossingKey> parse_crossing_key(const std::string& key);

class DumpedStep {
 public:
  /// Opens <record>/rank-*/dumps/step-<step>.safetensors; empty if there are none. Throws InputError for a file that
  /// cannot be read.
  DumpedStep(const std::filesystem::path& record, std::int64_t step);

  bool empty() const { return tensors_.empty(); }
  /// By key; for each key in the order of ranks.
  const std::multimap<std::string, DumpedTensor>& tensors() const { return tensors_; }
  /// The tensor of the first rank that dumped it; null if none did.
  const DumpedTensor* find(const std::string& key) const;

 private:
  std::vector<SafetensorsFile> files_;
  std::multimap<std::string, DumpedTensor> tensors_;
};

}  // namespace plumbline
