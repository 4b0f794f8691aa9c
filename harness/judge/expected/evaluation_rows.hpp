// SPDX-License-Identifier: BSD-3-Clause
// What the rows of an evaluation must be to each other, and to those of an earlier one, in one record.
#pragma once

#include <string>
#include <vector>

#include "record/rows.hpp"

namespace plumbline::judging {

/// A cell of evaluation.csv that is not what other rows say.
struct CellDifference {
  std::string column, expected, got;
};

/// Of the whole evaluation from the sums over its microbatches: tokens and labels exactly, the loss within the
/// roundings of a sum.
std::vector<CellDifference> differences_from_sum(const EvaluationRow& whole,
                                                 const std::vector<const EvaluationRow*>& microbatches);

/// Of the data of a microbatch from those it had in an earlier evaluation.
std::vector<CellDifference> differences_of_data(const EvaluationRow& earlier, const EvaluationRow& now);

}  // namespace plumbline::judging
