// SPDX-License-Identifier: BSD-3-Clause
// Data coverage: whether the data and steps of a training can show every fault. LocatedResult once per reference; how
// much of it is required is decided in the sweep file.
#pragma once

#include <optional>

#include "harness/judge/evidence/record_reading.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

struct DataCoverageRequest {
  bool required = false;
  bool equal_lengths = false;          ///< requested: then microbatches need not differ in size
  std::optional<double> loosest_loss;  ///< mode calibrated: largest limit of a loss; nullopt = bits
};

/// The check `bench`. Demands microbatches whose lengths grow, shrink, repeat and are 1, one fully masked, unequal
/// numbers of valid tokens, no two equal; losses for which token weighting and a mean of means differ by far more than
/// any limit; two steps, and parameters that change. Incomplete if any of this is missing, which the reason names, or
/// if the record cannot be read. Reads the whole record.
CheckResult judge_data_coverage(RecordReading reference, const DataCoverageRequest& request);

}  // namespace plumbline::judging
