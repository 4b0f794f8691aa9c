#include "reports/results_csv.hpp"

#include <gmock/gmock.h>

#include "support/csv.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;

CsvTable table_of(const Verdict& verdict) {
  const testing::TemporaryFolder folder;
  return read_csv(folder.file("results.csv", results_csv(verdict)));
}

TEST(ResultsCsv, OneRowForEachCheckOfEachCell) {
  const Verdict verdict = testing::sample_verdict(2);

  const CsvTable table = table_of(verdict);

  EXPECT_THAT(table.header,
              ElementsAre("cell", "run", "model", "optimizer", "world", "schedule", "balance", "check", "outcome",
                          "required", "tensors", "elements", "limit", "measured", "margin", "reason"));
  EXPECT_EQ(table.rows.size(), (2u * 2 * 2 * 2 + 4) * 14);
}

TEST(ResultsCsv, ARowSaysEverythingAndSurvivesQuotesAndCommas) {
  Verdict verdict = testing::sample_verdict(3);
  verdict.cells = {verdict.cells.back()};
  verdict.cells[0].model = "a,\"b\"\nc";
  CheckResult check = testing::holding_check("memory");
  check.looked_at = {{"ranks", 4}};
  check.required = false;
  check.margin = 0.43;
  verdict.cells[0].checks = {check};

  const CsvTable table = table_of(verdict);

  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_THAT(table.rows[0].cells,
              ElementsAre("stories260k-adamw-1f1b-w4-balance-0-0-5-0", "runs/stories260k.toml", "a,\"b\"\nc", "adamw",
                          "4", "1f1b", "0 0 5 0", "memory", "holds", "false", "", "",
                          "0 ULP: same microbatches on the same kind of device", "0 of 640 tensors differ", "0.43",
                          "every digest equals the reference's, forward and backward, at every cut"));
}

}  // namespace
}  // namespace plumbline
