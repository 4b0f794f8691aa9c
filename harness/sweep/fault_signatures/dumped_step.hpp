// SPDX-License-Identifier: BSD-3-Clause
// One step of a reference and a candidate: all tensors that their ranks dumped in it, and facts about it.
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
  /// A tensor with this digest and its key, of `rank` or, without one, of any; null if there is none.
  const std::pair<const std::string, DumpedTensor>* with_digest(const std::string& digest,
                                                                std::optional<std::int64_t> rank = {}) const;

 private:
  std::vector<SafetensorsFile> files_;
  std::multimap<std::string, DumpedTensor> tensors_;
};

struct StepFacts {
  std::int64_t microbatches = 0;
  bool sums_microbatches_apart = false;  ///< the reference sums in a listed order and keeps each microbatch's gradient
  std::int64_t valid_tokens = 0;         ///< of the step
  std::vector<std::vector<std::string>> tied;    ///< groups of names of one weight
  std::map<std::string, std::int64_t> stage_of;  ///< stage of each of the candidate's parameters

  bool is_tied(const std::string& parameter) const;
};

/// From the two records' manifests and tables. Throws InputError for a record that cannot be read.
StepFacts step_facts(const std::filesystem::path& reference, const std::filesystem::path& candidate, std::int64_t step);

struct DumpedRuns {
  const DumpedStep &reference, &candidate;
  const StepFacts& facts;
};

}  // namespace plumbline
