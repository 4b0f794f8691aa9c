// SPDX-License-Identifier: BSD-3-Clause
// Consistency of the rows of an evaluation with each other and with an earlier evaluation of the same record.
#pragma once

#include <string>
#include <vector>

#include "record/rows.hpp"

namespace plumbline::judging {

/// A cell of evaluation.csv that contradicts other rows.
struct CellDifference {
  std::string column, expected, got;
};

/// Checks the total row against the sums over microbatches: tokens and labels exactly, the loss within the roundings of
/// a sum.
std::vector<CellDifference> differences_from_sum(const EvaluationRow& whole,
                                                 const std::vector<const EvaluationRow*>& microbatches);

/// Checks a microbatch's data against those of an earlier evaluation.
std::vector<CellDifference> differences_of_data(const EvaluationRow& earlier, const EvaluationRow& now);

}  // namespace plumbline::judging
