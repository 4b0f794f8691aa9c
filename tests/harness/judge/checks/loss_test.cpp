// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

std::optional<float>& loss(SyntheticRun& run, std::int64_t step, std::int64_t microbatch) {
  for (auto& row : run.ranks.back().microbatches) {
    if (row.step == step && row.microbatch == microbatch) return row.loss;
  }
  throw std::logic_error("no such microbatch");
}

/// In both records, with the step's loss their sum.
void set_losses(SyntheticCell& cell, float first, float masked) {
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    loss(*run, 0, 0) = first;
    loss(*run, 0, 4) = masked;
    float sum = 0;
    for (const std::int64_t m : {0, 1, 2, 3, 4}) sum += *loss(*run, 0, m);
    run->ranks.back().steps[0].loss = sum;
  }
}

TEST(Loss, TwoRanksWithTheLossInAReferenceThatIsAPipeline) {
  SyntheticCell cell;
  cell.reference = synthetic_candidate({});
  cell.reference.manifest["run_id"] = new_run_id();
  for (ActionRow& row : cell.reference.rows(&RankRecord::actions)) row.end_ns += 1;  // no copy of the candidate
  for (auto& row : cell.reference.ranks[0].microbatches) {
    if (row.step == 0 && row.microbatch == 1) row.loss = loss(cell.reference, 0, 1);
  }
  EXPECT_THAT(result_of(cell.judge(), "loss").reason,
              HasSubstr("step 0, microbatch 1, stage 1, loss of the microbatch: of the reference"));
}

TEST(Loss, OfAMicrobatchWithoutAValidTokenMayBeMinusZero) {
  SyntheticCell cell;
  set_losses(cell, 0.5F, -0.0F);
  EXPECT_TRUE(cell.judge().holds);
}

}  // namespace
}  // namespace plumbline::testing
