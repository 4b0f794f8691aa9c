// SPDX-License-Identifier: BSD-3-Clause
#include "record/columns.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "support/text.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::ElementsAre;

template <typename Row>
std::string header() {
  return join(header_of<Row>(), ", ");
}

// Written out, since other programs write these tables too: a column that moved or changed its name is a new schema.
TEST(Columns, AreThoseOfTheFormat) {
  EXPECT_EQ(header<StepRow>(),
            "step, loss, gradient_norm, clip_coefficient, learning_rate, tokens, valid_tokens, live_tokens, seconds, "
            "recording_seconds");
  EXPECT_EQ(header<MicrobatchRow>(),
            "step, microbatch, sequence_length, batch, tokens, valid_tokens, loss, data_digest");
  EXPECT_EQ(header<TensorRow>(),
            "step, kind, name, stage, dtype, shape, digest, l2, max_abs, nonzero, nonzero_rows, nan, inf");
  EXPECT_EQ(header<BoundaryRow>(),
            "step, microbatch, direction, cut, from_stage, to_stage, side, peer, dtype, shape, digest, bytes");
  EXPECT_EQ(header<ActionRow>(), "step, index, action, stage, microbatch, start_ns, end_ns, wait_ns, peak_bytes");
  EXPECT_EQ(header<MemoryRow>(),
            "step, peak_bytes, parameter_bytes, gradient_bytes, optimizer_bytes, activation_peak_bytes, buffer_bytes, "
            "process_peak_bytes, live_bytes");
  EXPECT_EQ(header<SavedRow>(),
            "microbatch, unit, saved_bytes, forward_bytes, backward_bytes, input_bytes, retained_bytes, weight_bytes");
  EXPECT_EQ(header<TrafficRow>(), "step, peer, direction, side, operations, bytes");
  EXPECT_EQ(header<GpuMemoryRow>(),
            "step, requested_peak_bytes, reserved_peak_bytes, reserved_bytes, free_bytes, total_bytes");
  EXPECT_EQ(header<EvaluationRow>(), "step, microbatch, tokens, valid_tokens, loss, data_digest");
}

TEST(Columns, CellsStandUnderTheirNames) {
  EXPECT_EQ(join(cells_of(StepRow{1, 0.5f, 0.1, 1.0, 0.001, 64, 60, 17, 0.25, 0.125}), ","),
            "1,0.5,0.1,1,0.001,64,60,17,0.25,0.125");
  EXPECT_EQ(join(cells_of(MicrobatchRow{1, 2, 32, 4, 128, 100, 0.5f, "d"}), ","), "1,2,32,4,128,100,0.5,d");
  EXPECT_EQ(
      join(cells_of(TensorRow{-1, "parameter", "w", 3, "float32", {2, 4}, "d", 0.1, 0.3f, 5, 2, 6, 7, std::nullopt}),
           ","),
      "-1,parameter,w,3,float32,2x4,d,0.1,0.3,5,2,6,7");
  EXPECT_EQ(join(cells_of(BoundaryRow{1, 2, "backward", "norm", 4, 3, "send", 5, "float32", {8}, "d", 32}), ","),
            "1,2,backward,norm,4,3,send,5,float32,8,d,32");
  EXPECT_EQ(join(cells_of(ActionRow{1, 2, "3B4", 3, 4, 5, 6, 7, 8}), ","), "1,2,3B4,3,4,5,6,7,8");
  EXPECT_EQ(join(cells_of(MemoryRow{1, 2, 3, 4, 5, 6, 7, 8, 9}), ","), "1,2,3,4,5,6,7,8,9");
  EXPECT_EQ(join(cells_of(SavedRow{1, "norm", 2, 3, 4, 5, 6, 7}), ","), "1,norm,2,3,4,5,6,7");
  EXPECT_EQ(join(cells_of(TrafficRow{1, 2, "forward", "receive", 3, 4}), ","), "1,2,forward,receive,3,4");
  EXPECT_EQ(join(cells_of(GpuMemoryRow{1, 2, 3, 4, 5, 6}), ","), "1,2,3,4,5,6");
  EXPECT_EQ(join(cells_of(EvaluationRow{1, 2, 64, 60, 0.5f, "d"}), ","), "1,2,64,60,0.5,d");
}

TEST(Columns, WhatIsAbsentIsAnEmptyCell) {
  EXPECT_EQ(join(cells_of(StepRow{}), ","), "0,,,,,0,0,,,");
  EXPECT_EQ(join(cells_of(MemoryRow{}), ","), "0,,,,,,,,");
  EXPECT_EQ(join(cells_of(SavedRow{1, "norm", 2, 3, 4, {}, {}, {}}), ","), "1,norm,2,3,4,,,");
}

/// Reads each cell back through the same list and writes it again.
template <typename Row>
void expect_round_trip(const Row& row) {
  Row back;
  for (const auto& column : table_of<Row>().columns) EXPECT_TRUE(column.read(back, column.text(row))) << column.name;

  EXPECT_EQ(cells_of(back), cells_of(row));
}

TEST(Columns, ReadBackWhatTheyWrote) {
  expect_round_trip(sample_step(2, 1));
  expect_round_trip(sample_step(0, 1));
  expect_round_trip(sample_microbatch(1, 0));
  expect_round_trip(sample_tensor(0, -1));
  expect_round_trip(sample_boundary(1, 0));
  expect_round_trip(BoundaryRow{0, 0, "forward", "norm", {}, {}, "computed", {}, "float32", {}, some_digest, 4});
  expect_round_trip(sample_action(0, 0));
  expect_round_trip(ActionRow{0, 3, "0STEP", 0, {}, 1, 2, 0, {}});
  expect_round_trip(sample_memory(1));
  expect_round_trip(SavedRow{1, "norm", 2, 3, 4, 5, 6, 7});
  expect_round_trip(sample_traffic(0, 0));
  expect_round_trip(GpuMemoryRow{1, 2, 3, 4, 5, 6});
  expect_round_trip(EvaluationRow{1, 2, 5, 4, 0.5F, std::string(32, 'a')});
  expect_round_trip(EvaluationRow{1, std::nullopt, 5, 4, 0.5F, ""});
}

/// Whether the column of that name takes the text.
template <typename Row>
bool takes(const std::string& name, const std::string& text) {
  for (const auto& column : table_of<Row>().columns) {
    Row row;
    if (column.name == name) return column.read(row, text);
  }
  ADD_FAILURE() << "no column " << name;
  return false;
}

TEST(Columns, WholeNumbersCountFromZeroToALimitThatSumsDoNotOverflow) {
  EXPECT_TRUE(takes<StepRow>("tokens", "0"));
  EXPECT_TRUE(takes<StepRow>("tokens", "72057594037927936"));
  EXPECT_FALSE(takes<StepRow>("tokens", "72057594037927937"));
  EXPECT_FALSE(takes<StepRow>("tokens", "-1"));
  EXPECT_FALSE(takes<StepRow>("tokens", ""));
  EXPECT_TRUE(takes<StepRow>("live_tokens", "")) << "a reader asks for it where it must be there";
  EXPECT_FALSE(takes<StepRow>("live_tokens", "-1"));
  EXPECT_FALSE(takes<StepRow>("live_tokens", "72057594037927937"));
  EXPECT_TRUE(takes<TensorRow>("step", "-1")) << "the start";
  EXPECT_FALSE(takes<TensorRow>("step", "-2"));
  EXPECT_FALSE(takes<ActionRow>("wait_ns", "-1"));
}

TEST(Columns, CellsAreWhatTheirColumnsSay) {
  const std::string digest(32, 'a');
  for (const char* bad : {"", "a", "F32"}) {
    EXPECT_FALSE(takes<TensorRow>("dtype", bad)) << bad;
    EXPECT_FALSE(takes<TensorRow>("digest", bad)) << bad;
    EXPECT_EQ(takes<MicrobatchRow>("data_digest", bad), *bad == 0) << bad;
    EXPECT_EQ(takes<EvaluationRow>("data_digest", bad), *bad == 0) << bad;
    EXPECT_FALSE(takes<TrafficRow>("side", bad)) << bad;
  }
  EXPECT_TRUE(takes<MicrobatchRow>("data_digest", digest));
  EXPECT_FALSE(takes<TrafficRow>("side", "local"));
  EXPECT_FALSE(takes<TrafficRow>("side", "computed"));
  for (const char* side : {"send", "receive", "local", "computed"})
    EXPECT_TRUE(takes<BoundaryRow>("side", side)) << side;
  for (const char* kind : {"gradient", "parameter", "copy", "moment1", "moment2"})
    EXPECT_TRUE(takes<TensorRow>("kind", kind)) << kind;
  EXPECT_FALSE(takes<StepRow>("step", "-1"));
  EXPECT_EQ(table_of<TensorRow>().columns[5].wanted, "a shape such as 2x64");
}

TEST(Columns, ValuesThatAreNotFiniteReadBack) {
  StepRow row = sample_step(0, 0);
  row.loss = std::numeric_limits<float>::infinity();
  row.gradient_norm = std::numeric_limits<double>::quiet_NaN();

  expect_round_trip(row);
  EXPECT_EQ(join(cells_of(row), ",").substr(0, 9), "0,inf,nan");
}

/// Columns of a presence, by their names.
template <typename Row>
std::vector<std::string> columns_of(Presence presence) {
  std::vector<std::string> names;
  for (const auto& column : table_of<Row>().columns)
    if (column.presence == presence) names.push_back(column.name);
  return names;
}

template <typename Row>
void expect_all_required() {
  EXPECT_EQ(columns_of<Row>(Presence::required).size(), table_of<Row>().columns.size()) << table_of<Row>().file;
}

TEST(Columns, OlderAndForeignRecordsMayLackTheseColumns) {
  EXPECT_THAT(columns_of<StepRow>(Presence::external_may_lack_value), ElementsAre("live_tokens"));
  EXPECT_THAT(columns_of<StepRow>(Presence::external_may_leave_empty), ElementsAre("seconds"));
  EXPECT_THAT(columns_of<StepRow>(Presence::any_may_lack_column), ElementsAre("recording_seconds"));
  EXPECT_THAT(columns_of<StepRow>(Presence::required), ElementsAre("step", "loss", "gradient_norm", "clip_coefficient",
                                                                   "learning_rate", "tokens", "valid_tokens"));
  EXPECT_THAT(columns_of<TensorRow>(Presence::external_may_lack_column), ElementsAre("nonzero_rows"));
  EXPECT_THAT(columns_of<TensorRow>(Presence::external_alone), ElementsAre("learning_rate"));
  EXPECT_EQ(columns_of<TensorRow>(Presence::required).size(), 12U);
  EXPECT_THAT(columns_of<ActionRow>(Presence::external_may_lack_column), ElementsAre("peak_bytes"));
  EXPECT_EQ(columns_of<ActionRow>(Presence::required).size(), 8U);
  EXPECT_THAT(columns_of<MemoryRow>(Presence::required), ElementsAre("step"));
  EXPECT_THAT(columns_of<MemoryRow>(Presence::external_may_leave_empty),
              ElementsAre("peak_bytes", "parameter_bytes", "gradient_bytes", "optimizer_bytes", "activation_peak_bytes",
                          "buffer_bytes", "process_peak_bytes"));
  EXPECT_THAT(columns_of<MemoryRow>(Presence::external_may_lack_column), ElementsAre("live_bytes"));
  expect_all_required<MicrobatchRow>(), expect_all_required<BoundaryRow>(), expect_all_required<SavedRow>();
  expect_all_required<TrafficRow>(), expect_all_required<GpuMemoryRow>(), expect_all_required<EvaluationRow>();
}

template <typename Row>
void expect_rows(const std::vector<std::string>& key, Complete complete) {
  EXPECT_EQ(table_of<Row>().key, key) << table_of<Row>().file;
  EXPECT_EQ(table_of<Row>().complete, complete) << table_of<Row>().file;
}

TEST(Columns, RowsHaveTheseKeysAndTheseOfThemMustBeThere) {
  expect_rows<StepRow>({"step"}, Complete::each_step);
  expect_rows<MicrobatchRow>({"step", "microbatch"}, Complete::each_microbatch);
  expect_rows<TensorRow>({"step", "kind", "name", "stage"}, Complete::unique);
  expect_rows<BoundaryRow>({"step", "microbatch", "direction", "cut", "from_stage", "to_stage", "side"},
                           Complete::unique);
  expect_rows<ActionRow>({"step", "index"}, Complete::each_index);
  expect_rows<MemoryRow>({"step"}, Complete::each_step);
  expect_rows<SavedRow>({"microbatch", "unit"}, Complete::each_microbatch_unit);
  expect_rows<TrafficRow>({"step", "peer", "direction", "side"}, Complete::unique);
  expect_rows<GpuMemoryRow>({"step"}, Complete::each_step);
  expect_rows<EvaluationRow>({"step", "microbatch"}, Complete::unique);
}

}  // namespace
}  // namespace plumbline
