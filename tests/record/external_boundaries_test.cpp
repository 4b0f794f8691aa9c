// SPDX-License-Identifier: BSD-3-Clause
// Rows of boundaries.csv that result from an external trainer's calls.
#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/record/external_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

/// The stage in the middle has no units; ranks are numbered otherwise than stages, so that none stands for the other.
ExternalRun empty_in_the_middle() {
  return external_run({{1, {"a"}}, {2, {}}, {0, {"c"}}});
}

using Call = void (ExternalRecord::*)(std::int64_t, std::int64_t, std::int64_t, const TensorView&);

/// The row of this call on that rank.
template <typename Tell>
BoundaryRow boundary_of(const ExternalRun& run, std::int64_t rank, Tell tell) {
  const auto rows = external_rows(run, rank, tell).boundaries;
  EXPECT_EQ(rows.size(), 1U);
  return rows.empty() ? BoundaryRow{} : rows.front();
}

TEST(ExternalBoundaries, ATensorNamesItsStagesAndTheRankAtItsOtherEnd) {
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
        boundary_of(run, rank, [&, &tell = call, &one = first, &other = second](ExternalRecord& record) {
          (record.*tell)(one, other, 0, external_tensor);
        });
    EXPECT_EQ(row.from_stage, from);
    EXPECT_EQ(row.to_stage, to);
    EXPECT_EQ(row.peer, peer);
    EXPECT_EQ(row.side, side);
    EXPECT_EQ(row.direction, from < to ? "forward" : "backward");
    EXPECT_EQ(row.cut, "c") << "the first unit downstream, over the stage that has none";
  }
}

TEST(ExternalBoundaries, OfOneDeviceTheTensorIsComputedAndHasNoEnds) {
  for (const bool backward : {false, true}) {
    const auto row = boundary_of(external_run(), 0,
                                 [&](ExternalRecord& record) { record.computed("b", backward, 0, external_tensor); });

    EXPECT_EQ(row.cut, "b");
    EXPECT_EQ(row.direction, backward ? "backward" : "forward");
    EXPECT_EQ(row.side, "computed");
    EXPECT_FALSE(row.from_stage || row.to_stage || row.peer);
  }
}

TEST(ExternalBoundaries, BehindTheLastUnitNothingCrosses) {
  const auto run = external_run({{0, {"a"}}, {1, {"b"}}, {2, {}}});

  EXPECT_THAT(external_rows(run, 1, [](ExternalRecord& record) { record.sent(1, 2, 0, external_tensor); }).boundaries,
              IsEmpty());
}

// Readers would refuse such a record: the trainer gets the error at the wrong call.
TEST(ExternalBoundaries, RowsOfAnotherRanksStageAreRefused) {
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

TEST(ExternalBoundaries, StagesThatTheRunLacksAreRefused) {
  const TemporaryFolder folder;
  ExternalRecord record(folder / "record", external_run({{0, {"a"}}, {1, {"b"}}}));
  record.begin_step(0.1);

  const auto none = [](int stage) {
    return ThrowsMessage<InputError>(HasSubstr("stage " + std::to_string(stage) + " is none of the 2"));
  };
  EXPECT_THAT([&] { record.sent(0, -1, 0, external_tensor); }, none(-1));
  EXPECT_THAT([&] { record.sent(0, 2, 0, external_tensor); }, none(2));
  EXPECT_THAT([&] { record.sent(-1, 0, 0, external_tensor); }, none(-1));
  EXPECT_THAT([&] { record.received(0, 2, 0, external_tensor); }, none(2));
  EXPECT_THAT([&] { record.received(2, 0, 0, external_tensor); }, none(2));
  EXPECT_THAT([&] { record.begin_action(2, "F", 0); }, none(2));
}

}  // namespace
}  // namespace plumbline::testing
