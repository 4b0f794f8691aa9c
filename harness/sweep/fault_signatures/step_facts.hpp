// SPDX-License-Identifier: BSD-3-Clause
// Facts for matching fault signatures: numbers of microbatches, tokens and stages.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace plumbline {

struct StepFacts {
  std::int64_t step = 0;
  std::int64_t microbatches = 0, stages = 0;
  bool sums_microbatches_apart = false;  ///< the reference sums in a listed order and keeps each microbatch's gradient
  std::int64_t valid_tokens = 0;         ///< of the step
  std::vector<std::vector<std::string>> tied;    ///< groups of names of one weight
  std::map<std::string, std::int64_t> stage_of;  ///< stage of each of the candidate's parameters

  bool is_tied(const std::string& parameter) const;
};

/// From the two records' manifests and tables. Throws InputError for a record that cannot be read.
StepFacts step_facts(const std::filesystem::path& reference, const std::filesystem::path& candidate, std::int64_t step);

}  // namespace plumbline
