// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/evidence/record_reading.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::HasSubstr;

/// The synthetic candidate's record with an extra line after the rows of one table, so that all steps but the last can
/// be read.
struct BrokenRecord : SyntheticCell {
  BrokenRecord() : path(write_candidate()) {
    std::ofstream(path / "rank-1" / "memory.csv", std::ios::app) << "no row\n";
  }
  std::filesystem::path path;
};

TEST(RecordReading, EndsWithTheFirstErrorAndKeepsItsPlace) {
  BrokenRecord broken;
  RecordReading reading(broken.path);

  reading.read_to_end();

  EXPECT_EQ(reading.record(), nullptr);
  EXPECT_EQ(reading.next_step(), std::nullopt);
  EXPECT_THAT(reading.error(), HasSubstr("rank-1/memory.csv:4"));
  EXPECT_EQ(reading.place().file, "rank-1/memory.csv");
  EXPECT_EQ(reading.place().rank, 1);
  EXPECT_EQ(reading.progress()[0].whole_steps, 1) << "the unreadable step does not count";
  EXPECT_THROW(reading.rethrow(), RecordError);
  reading.go_to(1);  // no step is left
  EXPECT_EQ(reading.record(), nullptr);
}

TEST(RecordReading, CanBeRestarted) {
  BrokenRecord broken;
  RecordReading reading(broken.path);
  reading.read_to_end();

  reading.begin_again();

  ASSERT_NE(reading.record(), nullptr);
  EXPECT_NO_THROW(reading.rethrow());
  for (const RankProgress& rank : reading.progress()) EXPECT_EQ(rank.whole_steps, 0);
  reading.go_to(-1);
  EXPECT_FALSE(reading.record()->ranks[0].tensors.empty());
}

TEST(RecordReading, KnowsEachRanksProgress) {
  SyntheticCell cell;
  RecordReading reading(cell.write_candidate());

  reading.go_to(-1);
  EXPECT_EQ(reading.progress()[1].whole_steps, 0);
  reading.go_to(0);
  EXPECT_EQ(reading.progress()[1].whole_steps, 1);
  EXPECT_EQ(reading.progress()[1].last_action, "1STEP");
  reading.read_to_end();
  EXPECT_EQ(reading.progress()[1].whole_steps, synthetic_steps);
}

TEST(RecordReading, ReadsAReferenceFromTheCandidatesFirstStep) {
  SyntheticCell cell;
  begin_with_second_step(cell.candidate);
  const RecordReading candidate(cell.write_candidate());

  const RecordReading reference = read_reference_for(candidate, cell.write_reference());
  const RecordReading without_candidate =
      read_reference_for(RecordReading("no such record"), cell.folder / "reference");

  EXPECT_EQ(reference.record()->first_step, 1);
  EXPECT_EQ(without_candidate.record()->first_step, 0);
}

TEST(RecordReading, NextStepIsThatOfTheRemainingReadings) {
  EXPECT_EQ(earlier(1, 2), 1);
  EXPECT_EQ(earlier(2, 1), 1);
  EXPECT_EQ(earlier(std::nullopt, 2), 2);
  EXPECT_EQ(earlier(1, std::nullopt), 1);
  EXPECT_EQ(earlier(std::nullopt, std::nullopt), std::nullopt);
}

}  // namespace
}  // namespace plumbline::testing
