// SPDX-License-Identifier: BSD-3-Clause
// Verdicts on records that cannot be read, or that say what no record can say.
#include <gmock/gmock.h>

#include <fstream>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/judge.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/hash.hpp"
#include "tests/harness/judge/limits/dumped_run.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(UnreadableRecords, AnUnreadableRecordIsNotJudged) {
  SyntheticCell cell;
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  std::filesystem::remove(candidate / "manifest.json");

  const CellVerdict verdict = judge_cell(cell.plan, reference, candidate);

  EXPECT_EQ(verdict.optimizer, "");
  EXPECT_EQ(verdict.versions, nullptr);
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("completion"));
}

TEST(UnreadableRecords, TheOtherRecordsRequestIsStillChecked) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell;
    auto& broken = of_candidate ? cell.candidate : cell.reference;
    broken.ranks.back().steps.back().valid_tokens = 1'000'000;  // refused when the last step is read
    auto& request = (of_candidate ? cell.plan.reference_request : cell.plan.request).emplace();
    request.seed = 7;

    const CellVerdict verdict = cell.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("as_asked", "completion"));
    EXPECT_THAT(result_of(verdict, "as_asked").reason, HasSubstr("seed is 1, requested was 7"));
    EXPECT_EQ(verdict.checks.size(), check_names().size());
    EXPECT_EQ(result_of(verdict, "loss").reason, "a run did not complete: see completion");
  }
}

// A list may name a microbatch that nobody was fed: the check that meets it ends, and the others do not.
TEST(UnreadableRecords, ImpossibleValuesAreReportedByTheCheckThatMeetsThem) {
  SyntheticCell cell;
  cell.candidate.schedule_csv = to_csv(make_schedule("1f1b", 2, synthetic_microbatches + 1));
  cell.candidate.manifest["schedule"]["digest"] = hash_hex(cell.candidate.schedule_csv);

  const auto verdict = cell.judge();
  const auto& boundaries = result_of(verdict, "boundaries");

  ASSERT_EQ(boundaries.outcome, Outcome::differs) << boundaries.reason;
  expect_finding(*boundaries.first_divergence,
                 {.item = "record", .words = "names a microbatch that microbatches.csv does not have"});
  EXPECT_EQ(result_of(verdict, "parameters").outcome, Outcome::holds);
}

TEST(UnreadableRecords, IsReportedWithinLimitsToo) {
  for (const char* file : {"manifest.json", "rank-1/memory.csv"}) {
    CalibratedCell cell;

    const auto verdict = cell.compare(
        [&](judging::Calibration&) { std::ofstream(cell.folder / "candidate" / file, std::ios::app) << "no row\n"; });

    EXPECT_FALSE(verdict.holds);
    EXPECT_EQ(result_of(verdict, "completion").outcome, Outcome::differs);
    EXPECT_THAT(result_of(verdict, "completion").reason, HasSubstr(file));
    EXPECT_EQ(result_of(verdict, "parameters").outcome, Outcome::incomplete);
  }
}

TEST(UnreadableRecords, TwoUnreadableRecordsAreBothReported) {
  SyntheticCell cell;
  cell.candidate.ranks.back().steps.front().valid_tokens = 1'000'000;  // refused when the first step is read
  cell.reference.ranks.back().steps.back().valid_tokens = 1'000'000;

  const auto found = expect_red(cell, {"completion"}, {.words = "reference/rank-0/steps.csv"});
  EXPECT_EQ(found.step, 1) << "the reference's, without which there is nothing to compare";
}

TEST(UnreadableRecords, TheManifestOfAnUnreadableRecordIsNotCompared) {
  SyntheticCell cell;
  cell.candidate.manifest["seed"] = 7;
  cell.candidate.ranks.back().steps.back().valid_tokens = 1'000'000;  // refused when the last step is read

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("completion"));
  EXPECT_EQ(result_of(verdict, "data").reason, "a run did not complete: see completion");
}

}  // namespace
}  // namespace plumbline::testing
