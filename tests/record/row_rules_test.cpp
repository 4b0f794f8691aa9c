// SPDX-License-Identifier: BSD-3-Clause
#include "record/row_rules.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "record/manifest.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;

const Manifest manifest = parse_manifest("manifest.json", sample_manifest());

template <typename Row, typename Change>
std::string refused(Row row, Change change, std::int64_t rank = 0) {
  EXPECT_FALSE(bad_cell(row, manifest, rank)) << "it is right before the change";
  change(row);
  const auto bad = bad_cell(row, manifest, rank);
  return bad ? bad->column : "";
}

TEST(RowRules, StepsAndMicrobatchesAreThoseOfTheRun) {
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.step = 2; }), "step");
  EXPECT_EQ(refused(sample_memory(1), [](auto& row) { row.step = 2; }), "step");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.step = 2; }), "step");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.microbatch = 1; }), "microbatch");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.microbatch = 1; }), "microbatch");
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.microbatch = 1; }), "microbatch");
  EXPECT_EQ(refused(SavedRow{0, "norm", 1, 2, 3, {}, {}, {}}, [](auto& row) { row.microbatch = 1; }), "microbatch");
  EXPECT_EQ(refused(GpuMemoryRow{1, 1, 1, 1, 1, 1}, [](auto& row) { row.step = 2; }), "step");
}

TEST(RowRules, StagesAndPeersAreWhereTheManifestPlacesThem) {
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.stage = 1; }), "stage");
  EXPECT_EQ(refused(sample_action(0, 1), [](auto& row) { row.stage = 3; }), "stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.from_stage = 3; }), "from_stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.to_stage = 3; }), "to_stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.peer = 3; }), "peer");
  EXPECT_EQ(refused(sample_traffic(0, 1), [](auto& row) { row.peer = 3; }), "peer");
  EXPECT_EQ(refused(sample_traffic(0, 1), [](auto& row) { row.peer = 0; }), "peer");
  EXPECT_EQ(refused(SavedRow{0, "norm", 1, 2, 3, {}, {}, {}}, [](auto& row) { row.unit = "layers.1"; }), "unit");
}

TEST(RowRules, CountsOfATensorFitItsSize) {
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero = 512 * 64 + 1; }), "nonzero");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nan = 512 * 64 + 1; }), "nan");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nan = 1, row.inf = 512 * 64; }), "inf");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero_rows = 513; }), "nonzero_rows");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero = 511; }), "nonzero_rows");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero_rows.reset(); }), "nonzero_rows");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.shape = {512 * 64}; }), "nonzero_rows");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.shape = {1LL << 40, 1LL << 40}; }), "shape");
}

TEST(RowRules, TheStartHasParametersAlone) {
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.step = -1; }), "step");
  TensorRow start = sample_tensor(0, 1);
  start.kind = "parameter", start.step = -1;
  EXPECT_FALSE(bad_cell(start, manifest, 0));
}

TEST(RowRules, ABoundaryThatWasComputedHasNoEnds) {
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.from_stage.reset(); }), "from_stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.to_stage.reset(); }), "to_stage");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.peer.reset(); }), "peer");
  const auto computed = [](auto& row) {
    row.side = "computed", row.from_stage.reset(), row.to_stage.reset(), row.peer.reset();
  };
  EXPECT_EQ(refused(sample_boundary(0, 1), computed), "side") << "a pipeline computes no cut by itself";
}

TEST(RowRules, NumbersFitWhatTheyCount) {
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.tokens = 65; }), "tokens");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.valid_tokens = 65; }), "valid_tokens");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.batch = 0; }), "batch");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.batch = 1LL << 52; }), "batch");
  EXPECT_EQ(refused(sample_microbatch(0, 1), [](auto& row) { row.sequence_length = 0; }), "sequence_length");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.valid_tokens = 65; }), "valid_tokens");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.live_tokens = 65; }), "live_tokens");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.seconds = -5; }), "seconds");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.seconds = NAN; }), "seconds");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.recording_seconds = -1; }), "recording_seconds");
  EXPECT_EQ(refused(sample_step(0, 1), [](auto& row) { row.recording_seconds = 2 * *row.seconds + 1; }),
            "recording_seconds");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.bytes += 4; }), "bytes");
  EXPECT_EQ(refused(sample_boundary(0, 1), [](auto& row) { row.shape = {1LL << 40, 1LL << 40}; }), "shape");
  EXPECT_EQ(refused(GpuMemoryRow{1, 1, 1, 1, 1, 1}, [](auto& row) { row.free_bytes = 2; }), "free_bytes");
}

TEST(RowRules, EvaluationsStandBehindTheStepsThatTheManifestNames) {
  Json json = sample_manifest();
  json["evaluation"] = {{"every", 0}, {"microbatches", 2}};
  const Manifest evaluates = parse_manifest("manifest.json", json);
  const std::string digest(32, 'a');
  const auto column = [&](const EvaluationRow& row, const Manifest& of) {
    const auto bad = bad_cell(row, of, 0);
    return bad ? bad->column : "";
  };
  const EvaluationRow microbatch{1, 1, 5, 4, 0.5F, digest}, whole{1, std::nullopt, 5, 4, 0.5F, ""};
  EXPECT_EQ(column(microbatch, evaluates), "");
  EXPECT_EQ(column(whole, evaluates), "");
  EXPECT_EQ(column(whole, manifest), "step") << "a run that evaluates nothing";
  EXPECT_EQ(column({0, 1, 5, 4, 0.5F, digest}, evaluates), "step") << "after the last step alone";
  EXPECT_EQ(column({2, 1, 5, 4, 0.5F, digest}, evaluates), "step");
  EXPECT_EQ(column({1, 2, 5, 4, 0.5F, digest}, evaluates), "microbatch");
  EXPECT_EQ(column({1, 1, 5, 6, 0.5F, digest}, evaluates), "valid_tokens");
  EXPECT_EQ(column({1, 1, 5, 4, 0.5F, ""}, evaluates), "data_digest");
  EXPECT_EQ(column({1, std::nullopt, 5, 4, 0.5F, digest}, evaluates), "data_digest");
}

TEST(RowRules, SizesOfATensorFitWhatItsElementsAre) {
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.l2 = -0.5; }), "l2");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.max_abs = -0.3F; }), "max_abs");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.max_abs = INFINITY; }), "max_abs");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.max_abs = NAN; }), "max_abs");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.max_abs = 0; }), "max_abs");
  EXPECT_EQ(refused(sample_tensor(0, 1), [](auto& row) { row.nonzero = 0, row.nonzero_rows = 0; }), "max_abs");

  TensorRow zeros = sample_tensor(0, 1);
  zeros.l2 = 0, zeros.max_abs = 0, zeros.nonzero = 0, zeros.nonzero_rows = 0;
  EXPECT_FALSE(bad_cell(zeros, manifest, 0));
}

TEST(RowRules, SizesAreFreeWhereTheyMayOverflowOrAreAnothersOrAreNotNumbers) {
  for (const float largest : {0.0F, INFINITY}) {
    TensorRow wide = sample_tensor(0, 1);
    wide.dtype = "float64", wide.max_abs = largest;
    EXPECT_FALSE(bad_cell(wide, manifest, 0));
    TensorRow anothers = sample_tensor(0, 1);
    anothers.max_abs = largest;
    Manifest external = manifest;
    external.set_role("external");
    EXPECT_FALSE(bad_cell(anothers, external, 0));
    anothers.max_abs = -0.3F;
    EXPECT_TRUE(bad_cell(anothers, external, 0)) << "of nobody's";
  }
  TensorRow lost = sample_tensor(0, 1);
  lost.nan = 1, lost.l2 = NAN, lost.max_abs = NAN;
  EXPECT_FALSE(bad_cell(lost, manifest, 0));
}

}  // namespace
}  // namespace plumbline
