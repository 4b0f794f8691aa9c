// SPDX-License-Identifier: BSD-3-Clause
#include "record/row_rules.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "record/manifest.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

class RowRules : public ::testing::Test {
 protected:
  /// The column that is refused; empty where the row is taken.
  template <typename Row>
  std::string refused(const Row& row, std::int64_t rank = 0) const {
    const auto bad = bad_cell(row, parse_manifest("manifest.json", json_), rank);
    return bad ? bad->column : "";
  }
  template <typename Row, typename Change>
  std::string refused(Row row, Change change) const {
    EXPECT_EQ(refused(row), "") << "it is right before the change";
    change(row);
    return refused(row);
  }

  Json json_ = sample_manifest();
};

TEST_F(RowRules, MicrobatchesAreThoseOfTheRun) {
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.microbatch = 1; }), "microbatch");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.microbatch = 1; }), "microbatch");
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.microbatch = 1; }), "microbatch");
  EXPECT_EQ(refused(SavedRow{0, "norm", 1, 2, 3, {}, {}, {}}, [](auto& row) { row.microbatch = 1; }), "microbatch");
}

TEST_F(RowRules, StagesAndPeersAreWhereTheManifestPlacesThem) {
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.stage = 1; }), "stage");
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.stage = 3; }), "stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.from_stage = 3; }), "from_stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.to_stage = 3; }), "to_stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.peer = 3; }), "peer");
  EXPECT_EQ(refused(sample_traffic(0, 1), [](auto& row) { row.peer = 3; }), "peer");
  EXPECT_EQ(refused(sample_traffic(0, 1), [](auto& row) { row.peer = 0; }), "peer");
  EXPECT_EQ(refused(SavedRow{0, "norm", 1, 2, 3, {}, {}, {}}, [](auto& row) { row.unit = "layers.1"; }), "unit");
}

TEST_F(RowRules, CountsOfATensorFitItsSize) {
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero = 512 * 64 + 1; }), "nonzero");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nan = 512 * 64 + 1; }), "nan");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nan = 1, row.inf = 512 * 64; }), "inf");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero_rows = 513; }), "nonzero_rows");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero = 511; }), "nonzero_rows");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero_rows.reset(); }), "nonzero_rows");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.shape = {512 * 64}; }), "nonzero_rows");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.shape = {1LL << 40, 1LL << 40}; }), "shape");
}

TEST_F(RowRules, ABoundaryThatWasComputedHasNoEnds) {
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.from_stage.reset(); }), "from_stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.to_stage.reset(); }), "to_stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.peer.reset(); }), "peer");
  const auto computed = [](auto& row) {
    row.side = "computed", row.from_stage.reset(), row.to_stage.reset(), row.peer.reset();
  };
  EXPECT_EQ(refused(sample_boundary(0, 1), computed), "side") << "a pipeline computes no cut by itself";
}

TEST_F(RowRules, NumbersFitWhatTheyCount) {
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.tokens = 65; }), "tokens");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.valid_tokens = 65; }), "valid_tokens");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.batch = 0; }), "batch");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.batch = 1LL << 52; }), "batch");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.sequence_length = 0; }), "sequence_length");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.valid_tokens = 65; }), "valid_tokens");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.live_tokens = 65; }), "live_tokens");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.seconds = -5; }), "seconds");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.seconds = NAN; }), "seconds");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.bytes += 4; }), "bytes");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.shape = {1LL << 40, 1LL << 40}; }), "shape");
  EXPECT_EQ(refused(GpuMemoryRow{1, 1, 1, 1, 1, 1}, [](auto& row) { row.free_bytes = 2; }), "free_bytes");
}

TEST_F(RowRules, EvaluationsStandBehindTheStepsThatTheManifestNames) {
  const EvaluationRow microbatch{1, 1, 5, 4, 0.5F, some_digest}, whole{1, std::nullopt, 5, 4, 0.5F, ""};
  EXPECT_EQ(refused(whole), "step") << "a run that evaluates nothing";

  json_["evaluation"] = {{"every", 0}, {"microbatches", 2}};
  EXPECT_EQ(refused(microbatch), "");
  EXPECT_EQ(refused(whole), "");
  EXPECT_EQ(refused(microbatch, [](auto& row) { row.step = 0; }), "step") << "after the last step alone";
  EXPECT_EQ(refused(microbatch, [](auto& row) { row.step = 2; }), "step");
  EXPECT_EQ(refused(microbatch, [](auto& row) { row.microbatch = 2; }), "microbatch");
  EXPECT_EQ(refused(microbatch, [](auto& row) { row.valid_tokens = 6; }), "valid_tokens");
  EXPECT_EQ(refused(microbatch, [](auto& row) { row.data_digest = ""; }), "data_digest");
  EXPECT_EQ(refused(whole, [](auto& row) { row.data_digest = some_digest; }), "data_digest");
}

TEST_F(RowRules, SizesOfATensorFitWhatItsElementsAre) {
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.l2 = -0.5; }), "l2");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.max_abs = -0.3F; }), "max_abs");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.max_abs = INFINITY; }), "max_abs");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.max_abs = NAN; }), "max_abs");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.max_abs = 0; }), "max_abs");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero = 0, row.nonzero_rows = 0; }), "max_abs");

  TensorRow zeros = sample_tensor(0, 1);
  zeros.l2 = 0, zeros.max_abs = 0, zeros.nonzero = 0, zeros.nonzero_rows = 0;
  EXPECT_EQ(refused(zeros), "");
}

TEST_F(RowRules, SizesAreFreeWhereTheyMayOverflowOrAreAnothersOrAreNotNumbers) {
  TensorRow wide = sample_tensor(0, 1), anothers = wide, lost = wide;
  wide.dtype = "float64";
  lost.nan = 1, lost.l2 = NAN, lost.max_abs = NAN;
  EXPECT_EQ(refused(lost), "");
  for (const float largest : {0.0F, INFINITY}) {
    wide.max_abs = largest;
    EXPECT_EQ(refused(wide), "");
  }
  json_["role"] = "external";
  for (const float largest : {0.0F, INFINITY}) {
    anothers.max_abs = largest;
    EXPECT_EQ(refused(anothers), "");
  }
  anothers.max_abs = -0.3F;
  EXPECT_EQ(refused(anothers), "max_abs") << "of nobody's";
}

TEST_F(RowRules, ASizeIsAProductThatDoesNotOverflow) {
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

TEST_F(RowRules, TheFirstOfSeveralWrongCellsIsNamed) {
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.valid_tokens = row.live_tokens.emplace(65); }),
            "valid_tokens");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.sequence_length = row.batch = 0; }),
            "sequence_length");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.from_stage = row.to_stage = 3; }), "from_stage");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.step = 2, row.stage = 1; }), "step");
}

TEST_F(RowRules, StepsBeforeTheFirstOfARunThatWasGoneOnWithAreRefused) {
  json_["steps"] = 4;
  json_["first_step"] = 2;
  json_["resumed_from"] = {{"run_id", "b"}, {"step", 2}};

  EXPECT_EQ(refused(sample_memory(0)), "step");
  EXPECT_EQ(refused(sample_memory(1)), "step");
  EXPECT_EQ(refused(sample_memory(2)), "");
  EXPECT_EQ(refused(sample_memory(3)), "");
  EXPECT_EQ(refused(sample_memory(4)), "step");
}

TEST_F(RowRules, EveryTableHoldsItsRowsToTheStepsOfTheRun) {
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
  EXPECT_EQ(refused(EvaluationRow{1, 1, 5, 4, 0.5F, some_digest}, beyond), "step");
}

TEST_F(RowRules, TheStartOfARunThatWasGoneOnWithHasMomentsAndCopies) {
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

TEST_F(RowRules, SecondsOfAStepAreThereOrNot) {
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

TEST_F(RowRules, WhatIsNoNumberIsNotInfiniteToo) {
  const auto of = [&](std::int64_t nan, std::int64_t inf) {
    return refused(sample_tensor(0, 1), [&](auto& row) { row.nan = nan, row.inf = inf; });
  };
  EXPECT_EQ(of(512 * 64, 0), "");
  EXPECT_EQ(of(512 * 64, 1), "inf");
  EXPECT_EQ(of(1, 512 * 64 - 1), "");
}

TEST_F(RowRules, AStageBehindTheLastIsNoneAndAMicrobatchMayBeOfOneToken) {
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.stage = -1; }), "stage");
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.microbatch.reset(); }), "");
  EXPECT_EQ(refused(MicrobatchRow{1, 0, 1, 1, 1, 1, {}, some_digest}), "");
}

TEST_F(RowRules, BoundariesOfAReferenceAreComputed) {
  json_ = one_stage_manifest("reference");
  BoundaryRow row = sample_boundary(0, 1);
  row.from_stage = row.to_stage = row.peer = 0;
  EXPECT_EQ(refused(row), "side");

  row.side = "computed";
  row.from_stage.reset(), row.to_stage.reset(), row.peer.reset();
  EXPECT_EQ(refused(row), "");
}

TEST_F(RowRules, SomeoneElsesRecordMayLeaveOutWhatOnlyOursMustTell) {
  json_["role"] = "external";
  json_["evaluation"] = {{"every", 0}, {"microbatches", 2}};
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero_rows.reset(); }), "");
  EXPECT_EQ(refused(EvaluationRow{1, 1, 5, 4, 0.5F, ""}), "") << "of data that it does not digest";
}

}  // namespace
}  // namespace plumbline::testing
