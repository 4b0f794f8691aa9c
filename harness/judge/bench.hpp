// SPDX-License-Identifier: BSD-3-Clause
// The bench: whether the data and the steps of a training let a fault be seen at all. It is judged once, of the
// reference; how much of it is required is for whoever chose the data.
#pragma once

#include <optional>

#include "harness/judge/evidence/record_reading.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

struct BenchRequest {
  Requirement requirement = Requirement::told;
  bool equal_lengths = false;          ///< asked for: then nothing is demanded of how microbatches differ in size
  std::optional<double> loosest_loss;  ///< of the calibrated tier: its largest limit of a loss; absent = bits
};

/// The check `bench`: microbatches whose lengths grow, shrink, repeat and are 1, one fully masked, unequal numbers of
/// valid tokens, no two alike; losses that tell token weighting from a mean of means by far more than any limit; two
/// steps, and parameters that move. Not triggered where any of it is missing, and the reason names each. A record that
/// cannot be read is not run. Reads it from its beginning to its end.
CheckResult judge_bench(RecordReading reference, const BenchRequest& request);

}  // namespace plumbline::judging
