#include "harness/judge/evidence/memory_steps.hpp"

#include <gmock/gmock.h>

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::HasSubstr;

/// Of two ranks, with these steps in their rows.
Record record_of(const std::vector<std::vector<std::int64_t>>& steps) {
  Record record;
  record.manifest.role = "pipeline";
  record.manifest.steps = 3;
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    record.ranks.emplace_back();
    record.ranks.back().rank = static_cast<std::int64_t>(rank);
    for (const std::int64_t step : steps[rank]) {
      MemoryRow row;
      row.step = step;
      row.live_bytes = row.table_bytes = row.data_bytes = row.other_bytes = row.other_peak_bytes = 10 * step;
      record.ranks.back().memory.push_back(row);
    }
  }
  return record;
}

/// Why the check fails; empty when it does not.
std::string failure_of(const Record& record) {
  Judgement judgement("memory", "memory", "");
  const MemorySteps memory(record, "candidate", judgement);
  const Judged judged = judgement.conclude("", {});
  return judged.result.outcome == Outcome::fails ? judged.result.reason : "";
}

TEST(MemorySteps, AreFoundByRankAndStepInAnyOrder) {
  const Record record = record_of({{0, 1, 2}, {2, 0, 1}});
  Judgement judgement("memory", "memory", "");

  const MemorySteps memory(record, "candidate", judgement);

  EXPECT_FALSE(judgement.diverged());
  ASSERT_NE(memory.find(1, 2), nullptr);
  EXPECT_EQ(memory.find(1, 2)->live_bytes, 20);
  EXPECT_EQ(memory.find(1, 3), nullptr);
  EXPECT_EQ(memory.find(2, 0), nullptr);
}

TEST(MemorySteps, ARankWithoutAStepFailsHoweverOftenOthersStand) {
  EXPECT_THAT(failure_of(record_of({{0}, {0, 1, 2, 1, 2}})), HasSubstr("rank 0: memory.csv has 0 rows of step 1"));
  EXPECT_THAT(failure_of(record_of({{0, 0, 0}, {0, 1, 2}})), HasSubstr("rank 0: memory.csv has 3 rows of step 0"));
  EXPECT_THAT(failure_of(record_of({{0, 1, 2}, {}})), HasSubstr("rank 1: memory.csv has 0 rows of step 0"));
}

TEST(MemorySteps, AStepThatTheRunDoesNotHaveFails) {
  EXPECT_THAT(failure_of(record_of({{0, 1, 2, -7}})), HasSubstr("rows of step -7, expected none"));
  EXPECT_THAT(failure_of(record_of({{0, 1, 2, 3}})), HasSubstr("rows of step 3, expected none"));
  EXPECT_EQ(failure_of(record_of({{0, 1, 2}})), "");
}

TEST(MemorySteps, OwnersAreCountedWhereEveryRowCountsThem) {
  Record record = record_of({{0, 1, 2}, {0, 1, 2}});
  Judgement judgement("memory", "memory", "");
  EXPECT_TRUE(MemorySteps(record, "candidate", judgement).counts_owners());

  record.ranks[1].memory[2].other_peak_bytes.reset();
  const MemorySteps older(record, "candidate", judgement);
  EXPECT_FALSE(older.counts_owners());
  EXPECT_THAT(older.why_no_owners(), HasSubstr("memory.csv has no other_peak_bytes"));

  record.manifest.role = "external";
  EXPECT_THAT(MemorySteps(record, "candidate", judgement).why_no_owners(), HasSubstr("another program"));
}

}  // namespace
}  // namespace plumbline::testing
