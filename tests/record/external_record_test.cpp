// SPDX-License-Identifier: BSD-3-Clause
#include "record/external_record.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "record/tensor_statistics.hpp"
#include "support/error.hpp"
#include "tests/record/external_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;
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

TEST(ExternalRecord, IsReadStrictlyAsItWasTold) {
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

TEST(ExternalRecord, RefusesWhatNoReaderWouldTake) {
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

TEST(TensorStatistics, OfEachDtype) {
  const std::array<float, 6> floats{3, 0, 0, 0, -4, 0};
  const auto of_float = tensor_statistics("float32", {3, 2}, std::as_bytes(std::span(floats)));
  EXPECT_EQ(of_float.l2, 5);
  EXPECT_EQ(of_float.max_abs, 4.0F);
  EXPECT_EQ(of_float.nonzero, 2);
  EXPECT_EQ(of_float.nonzero_rows, 2);
  const std::array<std::uint16_t, 3> halves{0x3E00, 0xFC00, 0x0001};  // 1.5, -inf, the smallest
  const auto of_half = tensor_statistics("float16", {3}, std::as_bytes(std::span(halves)));
  EXPECT_EQ(of_half.inf, 1);
  EXPECT_EQ(of_half.nonzero, 3);
  EXPECT_FALSE(of_half.nonzero_rows.has_value());
  const std::array<std::uint16_t, 1> smallest{0x0001};
  EXPECT_EQ(tensor_statistics("float16", {1}, std::as_bytes(std::span(smallest))).l2, std::ldexp(1, -24));
  const std::array<std::uint16_t, 2> brains{0xC000, 0x7FC0};  // -2, NaN
  const auto of_brain = tensor_statistics("bfloat16", {2}, std::as_bytes(std::span(brains)));
  EXPECT_EQ(of_brain.nan, 1);
  EXPECT_TRUE(std::isnan(of_brain.l2));
  const std::array<double, 1> wide{1e300};
  EXPECT_TRUE(std::isinf(tensor_statistics("float64", {1}, std::as_bytes(std::span(wide))).max_abs));
  const std::array<float, 3> with_nan = {2, std::numeric_limits<float>::quiet_NaN(), -4};
  const auto of_nan = tensor_statistics("float32", {3}, std::as_bytes(std::span(with_nan)));
  EXPECT_TRUE(std::isnan(of_nan.max_abs));
  EXPECT_EQ(of_nan.nan, 1);
  EXPECT_THROW(tensor_statistics("float32", {3}, std::as_bytes(std::span(wide))), std::logic_error);
  EXPECT_THROW(tensor_statistics("int64", {1}, std::as_bytes(std::span(wide))), std::logic_error) << "of whole numbers";
}

TEST(TensorStatistics, RowsOfAMatrixAreCountedOneByOne) {
  const std::array<float, 6> values_of_rows{0, 0, 0, 3, 0, 0};
  const auto bytes = std::as_bytes(std::span(values_of_rows));
  EXPECT_EQ(tensor_statistics("float32", {3, 2}, bytes).nonzero_rows, 1);
  EXPECT_EQ(tensor_statistics("float32", {2, 3}, bytes).nonzero_rows, 1);
  EXPECT_EQ(tensor_statistics("float32", {6, 1}, bytes).nonzero_rows, 1);
  EXPECT_EQ(tensor_statistics("float32", {0, 0}, {}).nonzero_rows, 0);
  EXPECT_FALSE(tensor_statistics("float32", {1, 2, 3}, bytes).nonzero_rows);
  EXPECT_FALSE(tensor_statistics("float32", {6}, bytes).nonzero_rows);
}

}  // namespace
}  // namespace plumbline::testing
