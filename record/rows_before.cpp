// SPDX-License-Identifier: BSD-3-Clause
#include "record/rows_before.hpp"

#include "record/record.hpp"

namespace plumbline {

void RowsBefore::add(const RankRecord& in_hand) {
  steps += in_hand.steps.size();
  microbatches += in_hand.microbatches.size();
  tensors += in_hand.tensors.size();
  boundaries += in_hand.boundaries.size();
  evaluation += in_hand.evaluation.size();
}

}  // namespace plumbline
