// SPDX-License-Identifier: BSD-3-Clause
// Optional columns, keys and required rows of tables, as in docs/record-format.md.
#include <gmock/gmock.h>

#include <fstream>

#include "record/columns.hpp"
#include "record/table_stream.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Columns of a presence, by their names.
template <class Row>
std::vector<std::string> columns_of(Presence presence) {
  std::vector<std::string> names;
  for (const auto& column : table_of<Row>().columns)
    if (column.presence == presence) names.push_back(column.name);
  return names;
}

TEST(RecordTables, OlderAndForeignRecordsMayLackTheseColumns) {
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
  EXPECT_THAT(columns_of<MemoryRow>(Presence::added_with_schema_2),
              ElementsAre("table_bytes", "data_bytes", "other_bytes", "other_peak_bytes", "process_private_bytes"));
  EXPECT_THAT(columns_of<MemoryRow>(Presence::any_may_lack_column), ElementsAre("heap_free_bytes"));
  EXPECT_EQ(columns_of<MicrobatchRow>(Presence::required).size(), table_of<MicrobatchRow>().columns.size());
  EXPECT_EQ(columns_of<BoundaryRow>(Presence::required).size(), table_of<BoundaryRow>().columns.size());
  EXPECT_EQ(columns_of<SavedRow>(Presence::required).size(), table_of<SavedRow>().columns.size());
  EXPECT_EQ(columns_of<TrafficRow>(Presence::required).size(), table_of<TrafficRow>().columns.size());
  EXPECT_EQ(columns_of<GpuMemoryRow>(Presence::required).size(), table_of<GpuMemoryRow>().columns.size());
  EXPECT_EQ(columns_of<EvaluationRow>(Presence::required).size(), table_of<EvaluationRow>().columns.size());
}

template <class Row>
void expect_rows(const std::vector<std::string>& key, Complete complete) {
  EXPECT_EQ(table_of<Row>().key, key) << table_of<Row>().file;
  EXPECT_EQ(table_of<Row>().complete, complete) << table_of<Row>().file;
}

TEST(RecordTables, RowsHaveTheseKeysAndTheseOfThemMustBeThere) {
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

template <class Row>
bool reads(const std::string& name, const std::string& text) {
  Row row;
  for (const auto& column : table_of<Row>().columns)
    if (column.name == name) return column.read(row, text);
  ADD_FAILURE() << "no column " << name;
  return false;
}

TEST(RecordTables, CellsAreWhatTheirColumnsSay) {
  const std::string digest(32, 'a');
  for (const char* bad : {"", "a", "F32"}) {
    EXPECT_FALSE(reads<TensorRow>("dtype", bad)) << bad;
    EXPECT_FALSE(reads<TensorRow>("digest", bad)) << bad;
    EXPECT_EQ(reads<MicrobatchRow>("data_digest", bad), *bad == 0) << bad;
    EXPECT_EQ(reads<EvaluationRow>("data_digest", bad), *bad == 0) << bad;
    EXPECT_FALSE(reads<TrafficRow>("side", bad)) << bad;
  }
  EXPECT_TRUE(reads<MicrobatchRow>("data_digest", digest));
  EXPECT_FALSE(reads<TrafficRow>("side", "local"));
  EXPECT_FALSE(reads<TrafficRow>("side", "computed"));
  for (const char* side : {"send", "receive", "local", "computed"})
    EXPECT_TRUE(reads<BoundaryRow>("side", side)) << side;
  for (const char* kind : {"gradient", "parameter", "copy", "moment1", "moment2"})
    EXPECT_TRUE(reads<TensorRow>("kind", kind)) << kind;
  EXPECT_TRUE(reads<TensorRow>("step", "-1")) << "the start";
  EXPECT_FALSE(reads<TensorRow>("step", "-2"));
  EXPECT_FALSE(reads<StepRow>("step", "-1"));
  EXPECT_TRUE(reads<StepRow>("tokens", "72057594037927936")) << "2^56";
  EXPECT_FALSE(reads<StepRow>("tokens", "72057594037927937"));
}

TEST(RecordTables, ACellOfEachColumnIsItsOwn) {
  EvaluationRow evaluation;
  for (const auto& column : table_of<EvaluationRow>().columns)
    if (column.name == "tokens" || column.name == "valid_tokens") {
      ASSERT_TRUE(column.read(evaluation, column.name == "tokens" ? "7" : "5"));
    }
  EXPECT_EQ(evaluation.tokens, 7);
  EXPECT_EQ(evaluation.valid_tokens, 5);
}

TEST(RecordTables, NumbersAndTextsAreKeptToTheLastBit) {
  TensorRow row;
  row.name = std::string(200, 'n');
  row.l2 = 0.12345678901234567;
  row.max_abs = 0.1F;
  TensorRow read;
  for (const auto& column : table_of<TensorRow>().columns)
    if (column.name == "name" || column.name == "l2" || column.name == "max_abs") {
      ASSERT_TRUE(column.read(read, column.text(row))) << column.name;
    }
  EXPECT_EQ(read.name, row.name);
  EXPECT_EQ(read.l2, row.l2);
  EXPECT_EQ(read.max_abs, row.max_abs);
  for (const auto& column : table_of<TensorRow>().columns) {
    if (column.name == "max_abs") {
      EXPECT_EQ(column.text(row), "0.1") << "no more digits than float32 has";
    }
    if (column.name == "shape") {
      EXPECT_EQ(column.wanted, "a shape such as 2x64");
    }
  }
}

Manifest manifest_of(const std::string& role, int schema) {
  Manifest manifest;
  manifest.set_role(role);
  manifest.schema = schema;
  return manifest;
}

std::vector<std::string> who_may_lack(Presence presence) {
  std::vector<std::string> who;
  for (const char* role : {"reference", "pipeline", "external"})
    for (const int schema : {1, 2})
      if (may_lack_column(presence, manifest_of(role, schema)))
        who.push_back(role + std::string(" ") + std::to_string(schema));
  return who;
}

TEST(RecordTables, WhoMayLackAColumnAndWhoMustFillIt) {
  EXPECT_THAT(who_may_lack(Presence::required), IsEmpty());
  EXPECT_THAT(who_may_lack(Presence::external_may_lack_column), ElementsAre("external 1", "external 2"));
  EXPECT_THAT(who_may_lack(Presence::external_may_lack_value), ElementsAre("external 1", "external 2"));
  EXPECT_THAT(who_may_lack(Presence::external_may_leave_empty), IsEmpty());
  EXPECT_THAT(who_may_lack(Presence::added_with_schema_2),
              ElementsAre("reference 1", "pipeline 1", "external 1", "external 2"));
  EXPECT_EQ(who_may_lack(Presence::any_may_lack_column).size(), 6U);

  for (const Presence filled :
       {Presence::external_may_lack_value, Presence::external_may_leave_empty, Presence::added_with_schema_2})
    EXPECT_TRUE(must_have_value_of_our_own(filled));
  for (const Presence empty : {Presence::required, Presence::external_may_lack_column, Presence::any_may_lack_column})
    EXPECT_FALSE(must_have_value_of_our_own(empty));
}

TEST(RecordTables, ATableOfAKilledRankMayBeBegunAndNoMore) {
  TemporaryFolder folder;
  const Manifest manifest;
  std::int64_t rows_parsed = 0;
  RankPlace rank{manifest, folder.path(), 3, false, rows_parsed};
  folder.file("empty.csv", "");
  folder.file("half.csv", "step,lo");
  folder.file("headed.csv", "step,loss\n");
  EXPECT_TRUE(is_absent(rank, "none.csv"));
  EXPECT_TRUE(is_absent(rank, "empty.csv"));
  EXPECT_TRUE(is_absent(rank, "half.csv"));
  EXPECT_FALSE(is_absent(rank, "headed.csv"));
  rank.complete = true;
  EXPECT_TRUE(is_absent(rank, "none.csv"));
  EXPECT_FALSE(is_absent(rank, "empty.csv")) << "a rank that ended well has written its header";
  EXPECT_FALSE(is_absent(rank, "half.csv"));
}

TEST(RecordTables, AnErrorNamesFileLineRankAndStep) {
  const Manifest manifest;
  std::int64_t rows_parsed = 0;
  const RankPlace rank{manifest, "/record/rank-3", 3, true, rows_parsed};
  const RecordPlace place = rank.place("steps.csv", 5);
  EXPECT_EQ(place.file, "rank-3/steps.csv");
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.step, 5);
  for (const auto& [line, said] : {std::pair<std::size_t, const char*>(0, "/record/rank-3/steps.csv: what"),
                                   {1, "/record/rank-3/steps.csv:1: what"},
                                   {2, "/record/rank-3/steps.csv:2: what"}}) {
    try {
      rank.fail("steps.csv", line, 5, "what");
    } catch (const RecordError& error) {
      EXPECT_STREQ(error.what(), said);
      EXPECT_EQ(error.place().rank, 3);
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
