// SPDX-License-Identifier: BSD-3-Clause
#include "record/external_record.hpp"

#include <gmock/gmock.h>

#include <array>

#include "support/error.hpp"
#include "tests/record/external_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

/// Two ranks, one parameter each, one microbatch, two steps.
ExternalRun two_stages() {
  ExternalRun run = external_run({{0, {"first"}}, {1, {"second"}}});
  run.steps = 2;
  return run;
}

void make_step(ExternalRecord& record, std::int64_t rank) {
  record.begin_step(0.1);
  record.microbatch(microbatch_of_rows(1, {external_tensor}));
  if (rank == 0) record.sent(0, 1, 0, external_tensor);
  if (rank == 1) record.received(1, 0, 0, external_tensor);
  if (rank == 1) record.loss(0, 0.5F);
  record.gradient(rank, "weight", external_tensor);
  record.end_action(record.begin_action(rank, "STEP"));
  record.after_step("parameter", rank, "weight", external_tensor);
  record.end_step();
}

TEST(ExternalRecord, PassesTheStrictReaderUnchanged) {
  const TemporaryFolder folder;
  for (const std::int64_t rank : {0, 1}) {
    ExternalRecord record(folder / "record", two_stages(), rank);
    record.initial_parameter(rank, "weight", external_tensor);
    make_step(record, rank);
    make_step(record, rank);
    record.finish();
  }

  const Record read = read_record(folder / "record");

  EXPECT_EQ(read.manifest.world_size, 2);
  EXPECT_EQ(read.manifest.role, "external");
  ASSERT_EQ(read.ranks.size(), 2U);
  EXPECT_EQ(read.ranks[1].exit->status, "ok");
  EXPECT_EQ(read.ranks[1].steps[1].loss, 0.5F);
  EXPECT_FALSE(read.ranks[0].steps[1].loss.has_value());
  ASSERT_EQ(read.ranks[0].boundaries.size(), 2U);
  EXPECT_EQ(read.ranks[0].boundaries[0].cut, "second");
  EXPECT_EQ(read.ranks[0].boundaries[0].side, "send");
  EXPECT_EQ(read.ranks[0].boundaries[0].bytes, 8);
  EXPECT_EQ(read.ranks[0].tensors.size(), 1U + 2 * 2);
  EXPECT_EQ(read.ranks[0].tensors[0].step, -1);
  EXPECT_EQ(read.ranks[0].exit->data_digest, read.ranks[1].exit->data_digest);
}

TEST(ExternalRecord, RunThatEndsEarlySaysErrorAndKeepsItsSteps) {
  const TemporaryFolder folder;
  {
    ExternalRun run = two_stages();
    run.stages = {{0, {"first", "second"}}};
    ExternalRecord record(folder / "record", run);
    record.begin_step(0.1);
    record.microbatch(microbatch_of_rows(1, {external_tensor}));
    record.loss(0, 1);
    record.end_step();
    EXPECT_THROW(record.finish(), std::logic_error);
  }
  const Record read = read_record(folder / "record");
  EXPECT_EQ(read.ranks[0].exit->status, "error");
  EXPECT_EQ(read.ranks[0].steps.size(), 1U);
}

TEST(ExternalRecord, RefusesWhatReadersWouldRefuse) {
  const TemporaryFolder folder;
  const auto of = [&](auto change) {
    ExternalRun run = two_stages();
    change(run);
    ExternalRecord(folder / "refused", run);
  };
  EXPECT_THAT([&] { of([](ExternalRun& run) { run.optimizer = "sgd"; }); },
              ThrowsMessage<InputError>(HasSubstr("optimizer is not a JSON object")));
  EXPECT_THAT([&] { of([](ExternalRun& run) { run.stages.clear(); }); },
              ThrowsMessage<InputError>(HasSubstr("rank 0 has no stage")));
  EXPECT_THAT([&] { of([](ExternalRun& run) { run.steps = 0; }); }, ThrowsMessage<InputError>(HasSubstr("steps")));
  EXPECT_THAT([&] { of([](ExternalRun& run) { run.accumulation = "any"; }); },
              ThrowsMessage<InputError>(HasSubstr("accumulation")));
  EXPECT_THAT([&] { ExternalRecord(folder / "never made", two_stages(), 1); },
              ThrowsMessage<InputError>(HasSubstr("let rank 0 create its ExternalRecord first")));
}

TEST(ExternalRecord, RefusesCallsOutOfOrderAndStepsThatLackSomething) {
  const TemporaryFolder folder;
  ExternalRun run = two_stages();
  run.stages = {{0, {"first", "second"}}};
  run.clip_norm = 1;
  ExternalRecord record(folder / "record", run);
  record.begin_step(0.1);
  EXPECT_THROW(record.begin_step(0.1), std::logic_error);
  EXPECT_THROW(record.initial_parameter(0, "weight", external_tensor), std::logic_error);
  EXPECT_THROW(record.end_action(0), std::logic_error);
  EXPECT_THAT(
      [&] {
        record.gradient(0, "weight", {"float8", {2}, external_values.data()});
      },
      ThrowsMessage<InputError>(HasSubstr("dtype 'float8' is not known")));
  EXPECT_THAT([&] { record.after_step("moment3", 0, "weight", external_tensor); },
              ThrowsMessage<InputError>(HasSubstr("moment3")));
  EXPECT_THAT([&] { record.end_step(); }, ThrowsMessage<InputError>(HasSubstr("0 microbatches were recorded, of 1")));
}

/// The stage in the middle has no units. Stage and rank numbers differ, so that a test notices if they are confused.
ExternalRun empty_in_the_middle() {
  return external_run({{1, {"a"}}, {2, {}}, {0, {"c"}}});
}

using Call = void (ExternalRecord::*)(std::int64_t, std::int64_t, std::int64_t, const TensorView&);

/// The row that this call writes on that rank.
template <typename WriteRows>
BoundaryRow boundary_of(const ExternalRun& run, std::int64_t rank, WriteRows write_rows) {
  const auto rows = external_rows(run, rank, write_rows).boundaries;
  EXPECT_EQ(rows.size(), 1U);
  return rows.empty() ? BoundaryRow{} : rows.front();
}

TEST(ExternalBoundaries, ATensorNamesItsStagesAndPeer) {
  struct Case {
    ExternalRun run;
    std::int64_t rank;
    Call call;
    std::int64_t first, second;  ///< as the call names them
    std::int64_t from, to, peer;
    const char* side;
  };
  const ExternalRun of_one_rank = external_run({{0, {"a"}}, {0, {"c"}}});
  for (const auto& [run, rank, call, first, second, from, to, peer, side] :
       {Case{empty_in_the_middle(), 2, &ExternalRecord::sent, 1, 2, 1, 2, 0, "send"},
        Case{empty_in_the_middle(), 2, &ExternalRecord::sent, 1, 0, 1, 0, 1, "send"},
        Case{empty_in_the_middle(), 2, &ExternalRecord::received, 1, 0, 0, 1, 1, "receive"},
        Case{empty_in_the_middle(), 2, &ExternalRecord::received, 1, 2, 2, 1, 0, "receive"},
        Case{of_one_rank, 0, &ExternalRecord::handed_over, 0, 1, 0, 1, 0, "local"}}) {
    const BoundaryRow row =
        boundary_of(run, rank, [&, &write_rows = call, &one = first, &other = second](ExternalRecord& record) {
          (record.*write_rows)(one, other, 0, external_tensor);
        });
    EXPECT_EQ(row.from_stage, from);
    EXPECT_EQ(row.to_stage, to);
    EXPECT_EQ(row.peer, peer);
    EXPECT_EQ(row.side, side);
    EXPECT_EQ(row.direction, from < to ? "forward" : "backward");
    EXPECT_EQ(row.cut, "c") << "the first unit downstream, beyond the empty stage";
  }
}

TEST(ExternalBoundaries, OnOneDeviceATensorIsComputedAndHasNoPeers) {
  for (const bool backward : {false, true}) {
    const auto row = boundary_of(external_run(), 0,
                                 [&](ExternalRecord& record) { record.computed("b", backward, 0, external_tensor); });

    EXPECT_EQ(row.cut, "b");
    EXPECT_EQ(row.direction, backward ? "backward" : "forward");
    EXPECT_EQ(row.side, "computed");
    EXPECT_FALSE(row.from_stage || row.to_stage || row.peer);
  }
}

TEST(ExternalBoundaries, NoBoundaryFollowsTheLastUnit) {
  const auto run = external_run({{0, {"a"}}, {1, {"b"}}, {2, {}}});

  EXPECT_THAT(external_rows(run, 1, [](ExternalRecord& record) { record.sent(1, 2, 0, external_tensor); }).boundaries,
              IsEmpty());
}

// Readers would refuse such a record; the error shows the trainer which call is wrong.
TEST(ExternalBoundaries, RefusesRowsOfAnotherRanksStage) {
  const TemporaryFolder folder;
  ExternalRecord record(folder / "record", external_run({{0, {"a"}}, {1, {"b"}}}));
  const auto refused = ThrowsMessage<InputError>(HasSubstr("stage 1 is rank 1's, but was recorded by rank 0"));

  EXPECT_THAT([&] { record.initial_parameter(1, "b.weight", external_tensor); }, refused);
  record.begin_step(0.1);
  EXPECT_THAT([&] { record.sent(1, 0, 0, external_tensor); }, refused);
  EXPECT_THAT([&] { record.received(1, 0, 0, external_tensor); }, refused);
  EXPECT_THAT([&] { record.gradient(1, "b.weight", external_tensor); }, refused);
  EXPECT_THAT([&] { record.begin_action(1, "F", 0); }, refused);
}

TEST(ExternalBoundaries, RefusesUnknownStages) {
  const TemporaryFolder folder;
  ExternalRecord record(folder / "record", external_run({{0, {"a"}}, {1, {"b"}}}));
  record.begin_step(0.1);

  const auto none = [](int stage) {
    return ThrowsMessage<InputError>(HasSubstr("stage " + std::to_string(stage) + " is not one of the 2"));
  };
  EXPECT_THAT([&] { record.sent(0, -1, 0, external_tensor); }, none(-1));
  EXPECT_THAT([&] { record.sent(0, 2, 0, external_tensor); }, none(2));
  EXPECT_THAT([&] { record.sent(-1, 0, 0, external_tensor); }, none(-1));
  EXPECT_THAT([&] { record.received(0, 2, 0, external_tensor); }, none(2));
  EXPECT_THAT([&] { record.received(2, 0, 0, external_tensor); }, none(2));
  EXPECT_THAT([&] { record.begin_action(2, "F", 0); }, none(2));
}

Manifest manifest_of(const ExternalRun& run) {
  const TemporaryFolder folder;
  ExternalRecord(folder / "record", run);
  return read_manifest(folder / "record");
}

TEST(ExternalManifest, DescribesTheRun) {
  ExternalRun run = external_run();
  run.model = R"({"width": 7})";
  run.schedule = "1f1b";
  run.dtype = "bfloat16";
  run.device = "some GPU";
  run.accumulation = "descending";
  run.loss_scaling = "after";
  run.tied = {{"a.weight", "b.weight"}};
  run.frozen = {"a.bias"};
  run.seed = 11;
  run.data_source = "a corpus";

  const Manifest manifest = manifest_of(run);

  EXPECT_EQ(manifest.json.at("model"), Json({{"width", 7}}));
  EXPECT_EQ(manifest.schedule_name, "1f1b");
  EXPECT_EQ(manifest.dtype, "bfloat16");
  EXPECT_EQ(manifest.device, "some GPU");
  EXPECT_EQ(manifest.accumulation, "descending");
  EXPECT_EQ(manifest.loss_scaling, "after");
  EXPECT_THAT(manifest.tied, ElementsAre(ElementsAre("a.weight", "b.weight")));
  EXPECT_THAT(manifest.frozen, ElementsAre("a.bias"));
  EXPECT_EQ(manifest.seed, 11);
  EXPECT_EQ(manifest.json.at("data").at("source"), "a corpus");
}

TEST(ExternalManifest, HasTheNormsOrderIfTheRunClips) {
  ExternalRun run = external_run();
  run.norm_order = "per_rank";
  run.clip_epsilon = 1e-6;
  run.clip_norm = 0.5;
  const Manifest clips = manifest_of(run);
  EXPECT_EQ(clips.clip_norm, 0.5);
  EXPECT_EQ(clips.norm_order, "per_rank");
  EXPECT_EQ(clips.clip_epsilon, 1e-6);

  run.clip_norm.reset();
  const Manifest does_not = manifest_of(run);
  EXPECT_FALSE(does_not.clip_norm);
  EXPECT_EQ(does_not.norm_order, "canonical");
  EXPECT_EQ(does_not.clip_epsilon, 0);
}

TEST(ExternalManifest, ChunksIsTheLargestNumberOfStagesOfARank) {
  const auto chunks = [](const std::vector<ExternalStage>& stages) {
    return manifest_of(external_run(stages)).chunks_per_rank;
  };

  EXPECT_EQ(chunks({{0, {"a"}}, {1, {"b"}}}), 1);
  EXPECT_EQ(chunks({{0, {"a"}}, {1, {"b"}}, {0, {"c"}}}), 2);
  EXPECT_EQ(chunks({{0, {"a"}}, {1, {"b"}}, {0, {"c"}}, {1, {"d"}}}), 2);
}

TEST(ExternalManifest, RefusesARankWithoutAStage) {
  const TemporaryFolder folder;
  for (const std::int64_t rank : {-1, 2}) {
    EXPECT_THAT(
        [&] {
          ExternalRecord(folder / "record", external_run({{0, {"a"}}, {1, {"b"}}}), rank);
        },
        ThrowsMessage<InputError>(HasSubstr("rank " + std::to_string(rank) + " has no stage")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "record"));
}

}  // namespace
}  // namespace plumbline::testing
