// SPDX-License-Identifier: BSD-3-Clause
// Bounds of a loss: its distance from the sum of its microbatches' losses, and values that no cross-entropy has. And
// the consistency of the rows of an evaluation with each other and with an earlier evaluation of the same record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/rows.hpp"

namespace plumbline::judging {

/// The sum of the microbatches' losses, and which losses of a step or of an evaluation it admits.
class LossSum {
 public:
  void add(float loss) { sum_ += static_cast<double>(loss), ++microbatches_; }
  double sum() const { return sum_; }
  /// True within the roundings of a sum in any precision: each of the M additions and the M + 1 roundings to float32
  /// has an error of at most half an ulp of the running sum; losses are positive, so (2M + 1) 2^-24 of the sum is a
  /// bound.
  bool admits(float whole) const;

 private:
  double sum_ = 0;
  std::int64_t microbatches_ = 0;
};

/// The reason why `loss` cannot be a sum of cross-entropies over that many tokens; nullopt if it can.
std::optional<std::string> why_no_loss(float loss, std::int64_t valid_tokens);

/// A cell of evaluation.csv that contradicts other rows.
struct CellDifference {
  std::string column, expected, got;
};

/// Checks the total row against the sums over microbatches: tokens and labels exactly, the loss within the roundings of
/// a sum.
std::vector<CellDifference> differences_from_sum(const EvaluationRow& whole,
                                                 const std::vector<const EvaluationRow*>& microbatches);

/// Compares a microbatch's data with an earlier evaluation's.
std::vector<CellDifference> differences_of_data(const EvaluationRow& earlier, const EvaluationRow& now);

}  // namespace plumbline::judging
