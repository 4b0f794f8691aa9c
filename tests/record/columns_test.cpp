// SPDX-License-Identifier: BSD-3-Clause
// The tables of the format, and which rows they may have. Other programs write these tables too, so a column that moves
// or changes its name needs a new schema version.
#include "record/columns.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <sstream>
#include <tuple>

#include "record/row_rules.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;

/// A valid row of each table; where possible, all cells of a row differ.
const auto sample_rows = std::make_tuple(sample_step(2, 1), NormRow{1, 0, 2.0, 3.0, 0.5}, sample_microbatch(0, 1),
                                         sample_tensor(0, 1), sample_boundary(0, 1), sample_action(0, 1),
                                         sample_memory(1), SavedRow{0, "norm", 2, 3, 4, 5, 6, 7}, sample_traffic(0, 1),
                                         GpuMemoryRow{1, 6, 7, 8, 9, 10}, EvaluationRow{1, 1, 5, 4, 0.5F, some_digest});

template <typename Visit>
void for_each_table(Visit visit) {
  std::apply([&](const auto&... rows) { (visit(rows), ...); }, sample_rows);
}

/// Words for a Presence, by its number.
constexpr const char* presences[] = {"",
                                     "external records may lack the column",
                                     "external records may lack the value",
                                     "external records may leave it empty",
                                     "any record may lack the column",
                                     "external records only"};
constexpr const char* demands[] = {"each step", "each microbatch", "each index", "each microbatch and unit", "unique"};

TEST(Columns, AreAsApproved) {
  std::string text;
  for_each_table([&]<typename Row>(const Row& row) {
    const Table<Row>& table = table_of<Row>();
    text += table.file + "  key: " + join(table.key, ", ") + "; " + demands[static_cast<int>(table.complete)] + "\n";
    for (const auto& column : table.columns) {
      text += "  " + column.name + ": " + column.wanted;
      if (column.presence != Presence::required)
        text += std::string("; ") + presences[static_cast<int>(column.presence)];
      text += "; here '" + column.text(row) + "'\n";
    }
    EXPECT_EQ(header_of<Row>().size(), cells_of(row).size());
  });
  expect_approved("columns.txt", text);
}

/// Reads each cell back through the same list and writes it again.
template <typename Row>
void expect_round_trip(const Row& row) {
  Row back;
  for (const auto& column : table_of<Row>().columns) EXPECT_TRUE(column.read(back, column.text(row))) << column.name;
  EXPECT_EQ(cells_of(back), cells_of(row));
}

TEST(Columns, ReadBackWhatTheyWrote) {
  for_each_table([](const auto& row) { expect_round_trip(row); });
  expect_round_trip(sample_step(0, 1));
  expect_round_trip(StepRow{});
  expect_round_trip(MemoryRow{});
  expect_round_trip(BoundaryRow{0, 0, "forward", "norm", {}, {}, "computed", {}, "float32", {}, some_digest, 4});
  expect_round_trip(ActionRow{0, 3, "0STEP", 0, {}, 1, 2, 0, {}});
  expect_round_trip(EvaluationRow{1, std::nullopt, 5, 4, 0.5F, ""});
  StepRow row = sample_step(0, 0);
  row.loss = std::numeric_limits<float>::infinity();
  row.gradient_norm = std::numeric_limits<double>::quiet_NaN();
  expect_round_trip(row);
  EXPECT_EQ(join(cells_of(row), ",").substr(0, 9), "0,inf,nan");
}

/// The reader's answer to a table's sample row after the changes: lines "/pointer value" change the manifest, lines
/// "table column value" a cell.
std::string row_answer(const std::string& changes) {
  std::string of_manifest = "/evaluation {\"every\": 1, \"microbatches\": 2}\n", said = "no such table or column";
  std::vector<std::vector<std::string>> cells;
  std::istringstream lines(changes);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("/")) {
      of_manifest += line + "\n";
      continue;
    }
    const auto table = line.find(' '), column = line.find(' ', table + 1);
    cells.push_back({line.substr(0, table) + ".csv", line.substr(table + 1, column - table - 1),
                     column == std::string::npos ? "" : line.substr(column + 1)});
  }
  const Manifest manifest = parse_manifest("manifest.json", changed(sample_manifest(), of_manifest));
  for_each_table([&]<typename Row>(Row row) {
    if (table_of<Row>().file != cells.front().at(0)) return;
    for (const auto& cell : cells) {
      for (const auto& column : table_of<Row>().columns) {
        if (column.name != cell.at(1)) continue;
        said = column.read(row, cell.at(2)) ? "accepted" : cell.at(1) + ": is not " + column.wanted;
        if (said != "accepted") return;
      }
    }
    if (const auto bad = bad_cell(row, manifest, 0)) said = bad->column + ": " + bad->why;
  });
  return said;
}

TEST(Rows, AreAcceptedOrRefusedAsApproved) {
  expect_answers("rows.txt", row_answer);
}

TEST(Rows, AReferenceHasComputedBoundaries) {
  const Manifest manifest = parse_manifest("manifest.json", one_stage_manifest("reference"));
  BoundaryRow row = sample_boundary(0, 1);
  row.from_stage = row.to_stage = row.peer = 0;
  EXPECT_EQ(bad_cell(row, manifest, 0).value().column, "side");
  row.side = "computed";
  row.from_stage.reset(), row.to_stage.reset(), row.peer.reset();
  EXPECT_FALSE(bad_cell(row, manifest, 0));
}

TEST(Rows, SizeDoesNotOverflow) {
  EXPECT_EQ(size_of({}), 1);
  EXPECT_EQ(size_of({0, 5}), 0);
  EXPECT_EQ(size_of({5, 0}), 0);
  EXPECT_EQ(size_of({1LL << 28, 1LL << 28}), 1LL << 56);
  for (const Shape& impossible :
       {Shape{1LL << 28, 1LL << 28, 2}, {1LL << 40, 1LL << 40, 0}, {-2, -3}, {2, -3}, {-2, 3}})
    EXPECT_FALSE(size_of(impossible));
}

}  // namespace
}  // namespace plumbline
