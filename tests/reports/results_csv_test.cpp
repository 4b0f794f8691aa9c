// SPDX-License-Identifier: BSD-3-Clause
#include "reports/results_csv.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "support/csv.hpp"
#include "tests/paths.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;

CsvTable table_of(const Verdict& verdict) {
  const testing::TemporaryFolder folder;
  return read_csv(folder.file("results.csv", results_csv(verdict)));
}

TEST(ResultsCsv, HasARowForEachCheckOfEachCase) {
  const Verdict verdict = testing::sample_verdict(2);

  const CsvTable table = table_of(verdict);

  EXPECT_THAT(table.header, ElementsAre("case", "run", "model", "optimizer", "world", "schedule", "balance", "variant",
                                        "reference", "claim", "outcome", "required", "accepted", "from_step",
                                        "compared_tensors", "compared_elements", "compared", "inspected", "limit",
                                        "measured", "margin", "not_shown", "reason"));
  EXPECT_EQ(table.rows.size(), 4 + (2u * 2 * 2 * 2 + 4) * 15) << "four references with one check each";
}

TEST(ResultsCsv, NoFieldIsASpreadsheetFormula) {
  Verdict verdict = testing::sample_verdict(2);
  verdict.references.clear();
  verdict.cells = {verdict.cells.back()};
  CheckResult check = testing::holding_check("memory");
  check.limit = "-0.5";
  check.measured = "+x";
  check.not_shown = {"@SUM(A1)"};
  check.reason = "=HYPERLINK(\"http://x\")";
  verdict.cells[0].checks = {check};

  const CsvTable table = table_of(verdict);
  const auto cell = [&](const char* column) { return table.rows.at(0).cells[table.column(column)]; };
  EXPECT_EQ(cell("limit"), "-0.5");
  EXPECT_EQ(cell("measured"), "'+x");
  EXPECT_EQ(cell("not_shown"), "'@SUM(A1)");
  EXPECT_EQ(cell("reason"), "'=HYPERLINK(\"http://x\")");
}

TEST(ResultsCsv, ARowIsCompleteAndSurvivesQuotesAndCommas) {
  Verdict verdict = testing::sample_verdict(3);
  verdict.references.clear();
  verdict.cells = {verdict.cells.back()};
  verdict.cells[0].variant = "partition cost";
  verdict.cells[0].model = "a,\"b\"\nc";
  CheckResult check = testing::holding_check("memory");
  check.compared = {{"state_cells", 12}, {"step_ends", 8}};
  check.inspected = {{"ranks", 4}};
  check.not_shown = {"one", "two"};
  check.required = false;
  check.margin = 0.43;
  CheckResult other = testing::holding_check("gradients");
  other.compared = {{"tensors", 12}, {"elements", 34}};
  other.inspected = {{"tensors", 5}, {"elements", 6}};
  verdict.cells[0].checks = {check, other};

  const CsvTable table = table_of(verdict);

  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[1].cells[table.column("compared_tensors")], "12") << "not the 5 that were inspected";
  EXPECT_EQ(table.rows[1].cells[table.column("compared_elements")], "34");
  EXPECT_THAT(table.rows[0].cells,
              ElementsAre("stories260k-adamw-1f1b-w4-balance-0-0-5-0", "stories260k", "a,\"b\"\nc", "adamw", "4",
                          "1f1b", "0 0 5 0", "partition cost", "stories260k-adamw", "memory", "holds", "false", "false",
                          "", "", "", "12 state_cells; 8 step_ends", "4 ranks",
                          "0 ULP: same microbatches on the same kind of device", "0 of 640 tensors differ", "0.43",
                          "one; two", "every digest equals the reference's, forward and backward, at every cut"));
}

TEST(ResultsCsv, TheDocsNameEveryColumn) {
  const std::string docs = testing::bytes_of(std::filesystem::path(testing::source_path()) / "docs" / "verdict.md");
  const auto section = docs.find("## results.csv");
  ASSERT_NE(section, std::string::npos);

  for (const auto& column : table_of({}).header) {
    EXPECT_NE(docs.find("`" + column + "`", section), std::string::npos) << column;
  }
}

}  // namespace
}  // namespace plumbline
