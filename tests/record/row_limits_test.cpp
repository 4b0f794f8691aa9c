// SPDX-License-Identifier: BSD-3-Clause
// Rows at the limits of valid values, and which of several wrong cells is reported.
#include <gtest/gtest.h>

#include <cmath>

#include "record/manifest.hpp"
#include "record/row_rules.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

class RowLimits : public ::testing::Test {
 protected:
  /// The column that is refused; empty where the row is taken.
  template <typename Row>
  std::string refused(const Row& row, std::int64_t rank = 0) const {
    const auto bad = bad_cell(row, parse_manifest("manifest.json", json_), rank);
    return bad ? bad->column : "";
  }
  template <typename Row, typename Change>
  std::string refused(Row row, Change change) const {
    change(row);
    return refused(row);
  }

  Json json_ = sample_manifest();
};

TEST_F(RowLimits, ASizeIsAProductThatDoesNotOverflow) {
  EXPECT_EQ(size_of({}), 1);
  EXPECT_EQ(size_of({0, 5}), 0);
  EXPECT_EQ(size_of({5, 0}), 0);
  EXPECT_EQ(size_of({1LL << 28, 1LL << 28}), 1LL << 56);
  EXPECT_FALSE(size_of({1LL << 28, 1LL << 28, 2}));
  EXPECT_FALSE(size_of({1LL << 40, 1LL << 40, 0})) << "it is no size once it is too large";
  EXPECT_FALSE(size_of({-2, -3}));
  EXPECT_FALSE(size_of({2, -3}));
  EXPECT_FALSE(size_of({-2, 3}));
}

TEST_F(RowLimits, TheFirstOfSeveralWrongCellsIsNamed) {
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.valid_tokens = row.live_tokens.emplace(65); }),
            "valid_tokens");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.sequence_length = row.batch = 0; }),
            "sequence_length");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.from_stage = row.to_stage = 3; }), "from_stage");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.step = 2, row.stage = 1; }), "step");
}

TEST_F(RowLimits, StepsBeforeTheFirstOfARunThatWasGoneOnWithAreRefused) {
  json_["steps"] = 4;
  json_["first_step"] = 2;
  json_["resumed_from"] = {{"run_id", "b"}, {"step", 2}};

  EXPECT_EQ(refused(sample_memory(0)), "step");
  EXPECT_EQ(refused(sample_memory(1)), "step");
  EXPECT_EQ(refused(sample_memory(2)), "");
  EXPECT_EQ(refused(sample_memory(3)), "");
  EXPECT_EQ(refused(sample_memory(4)), "step");
}

TEST_F(RowLimits, EveryTableHoldsItsRowsToTheStepsOfTheRun) {
  const auto beyond = [](auto& row) { row.step = 2; };
  EXPECT_EQ(refused(sample_step(0, 1), beyond), "step");
  EXPECT_EQ(refused(sample_microbatch(0, 1), beyond), "step");
  EXPECT_EQ(refused(sample_tensor(0, 1), beyond), "step");
  EXPECT_EQ(refused(sample_boundary(0, 1), beyond), "step");
  EXPECT_EQ(refused(sample_action(0, 1), beyond), "step");
  EXPECT_EQ(refused(sample_memory(1), beyond), "step");
  EXPECT_EQ(refused(sample_traffic(0, 1), beyond), "step");
  EXPECT_EQ(refused(GpuMemoryRow{1, 1, 1, 1, 1, 1}, beyond), "step");
  json_["evaluation"] = {{"every", 1}, {"microbatches", 2}};
  EXPECT_EQ(refused(EvaluationRow{1, 1, 5, 4, 0.5F, some_digest}), "");
  EXPECT_EQ(refused(EvaluationRow{1, 1, 5, 4, 0.5F, some_digest}, beyond), "step");
}

TEST_F(RowLimits, TheStartOfARunThatWasGoneOnWithHasMomentsAndCopies) {
  TensorRow start = sample_tensor(0, -1);
  for (const char* kind : {"parameter", "copy"}) {
    start.kind = kind;
    EXPECT_EQ(refused(start), "") << kind;
  }
  start.kind = "moment1";
  EXPECT_EQ(refused(start), "step") << "a run from the beginning has none yet";

  json_["first_step"] = 1;
  json_["resumed_from"] = {{"run_id", "b"}, {"step", 1}};
  EXPECT_EQ(refused(start), "");
  start.kind = "gradient";
  EXPECT_EQ(refused(start), "step");
}

TEST_F(RowLimits, SecondsOfAStepAreThereOrNot) {
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.seconds = 0; }), "");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.seconds.reset(); }), "");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.seconds = INFINITY; }), "seconds");
  const auto recording = [&](std::optional<double> seconds, double of_them) {
    StepRow row = sample_step(0, 1);
    row.seconds = seconds;
    row.recording_seconds = of_them;
    return refused(row);
  };
  EXPECT_EQ(recording(0.25, 0), "");
  EXPECT_EQ(recording(0.25, 0.25), "");
  EXPECT_EQ(recording(std::nullopt, 0.5), "");
  EXPECT_EQ(recording(0.25, 0.5), "recording_seconds");
  EXPECT_EQ(recording(0.25, -0.125), "recording_seconds");
  EXPECT_EQ(recording(std::nullopt, INFINITY), "recording_seconds");
  EXPECT_EQ(recording(std::nullopt, NAN), "recording_seconds");
}

TEST_F(RowLimits, WhatIsNoNumberIsNotInfiniteToo) {
  const auto of = [&](std::int64_t nan, std::int64_t inf) {
    return refused(sample_tensor(0, 1), [&](auto& row) { row.nan = nan, row.inf = inf; });
  };
  EXPECT_EQ(of(512 * 64, 0), "");
  EXPECT_EQ(of(512 * 64, 1), "inf");
  EXPECT_EQ(of(1, 512 * 64 - 1), "");
}

TEST_F(RowLimits, AStageBehindTheLastIsNoneAndAMicrobatchMayBeOfOneToken) {
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.stage = 3; }), "stage");
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.stage = -1; }), "stage");
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.microbatch.reset(); }), "");
  EXPECT_EQ(refused(MicrobatchRow{1, 0, 1, 1, 1, 1, {}, some_digest}), "");
}

TEST_F(RowLimits, BoundariesOfAReferenceAreComputed) {
  json_["role"] = "reference";
  json_["world_size"] = 1;
  json_["schedule"]["name"] = "sequential";
  json_["stages"] = {{{"stage", 0}, {"rank", 0}, {"units", {"embed_tokens", "layers.0", "norm", "lm_head"}}}};
  BoundaryRow row = sample_boundary(0, 1);
  row.from_stage = row.to_stage = row.peer = 0;
  EXPECT_EQ(refused(row), "side");

  row.side = "computed";
  row.from_stage.reset(), row.to_stage.reset(), row.peer.reset();
  EXPECT_EQ(refused(row), "");
}

TEST_F(RowLimits, SomeoneElsesRecordMayLeaveOutWhatOnlyOursMustTell) {
  json_["role"] = "external";
  json_["evaluation"] = {{"every", 0}, {"microbatches", 2}};
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero_rows.reset(); }), "");
  EXPECT_EQ(refused(EvaluationRow{1, 1, 5, 4, 0.5F, ""}), "") << "of data that it does not digest";
}

}  // namespace
}  // namespace plumbline::testing
