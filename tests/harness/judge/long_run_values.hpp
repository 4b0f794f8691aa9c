// SPDX-License-Identifier: BSD-3-Clause
// The rows of tensors.csv and boundaries.csv of a long run at level full: every value has its own digest, and
// statistics consistent with the step's norm and the optimizer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/expected/model.hpp"

namespace plumbline::testing {

struct LongRunValues {
  const judging::ExpectedModel& model;                  ///< not tied
  const std::vector<std::vector<std::string>>& stages;  ///< one per rank
  bool reference;
  std::int64_t (*length_of)(std::int64_t microbatch);
  std::int64_t microbatches;
  double (*norm_of)(std::int64_t step);

  /// Appends lines to `text` and returns their number. Step -1: the start.
  std::int64_t add_tensors(std::int64_t step, std::int64_t rank, std::string& text) const;
  std::int64_t add_boundaries(std::int64_t step, std::int64_t rank, std::string& text) const;
};

}  // namespace plumbline::testing
