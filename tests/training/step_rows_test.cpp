// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_rows.hpp"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <utility>

#include "support/csv.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

/// Two microbatches: two rows of three and two tokens, and one row of four without a label.
DataSettings two_microbatches() {
  DataSettings data;
  data.text = "story.txt";
  data.row_lengths = {{3, 2}, {4}};
  data.masked = {1};
  return data;
}

/// A rank's rows of made-up steps, and the resulting tables.
class RowsOfSteps {
 public:
  explicit RowsOfSteps(bool owns_loss = true, RecordLevel level = RecordLevel::full)
      : writer_(folder_.path(), 0, level, false), rows_(writer_, plan_, new_memory_meter(), clock_, owns_loss) {}

  StepRows& operator*() { return rows_; }
  StepRows* operator->() { return &rows_; }
  const BatchPlan& plan() const { return plan_; }
  void feed(std::int64_t step) {
    for (std::int64_t each = 0; each < plan_.microbatches(); ++each) rows_.on_input(each, plan_.make(step, each));
  }
  /// A column of a table, row by row; null if there is no such table.
  std::vector<std::string> column(const std::string& file, const std::string& name) const {
    const std::filesystem::path path = folder_.path() / "rank-0" / file;
    std::vector<std::string> cells;
    if (!std::filesystem::exists(path)) return cells;
    const CsvTable table = read_csv(path);
    for (const CsvRow& row : table.rows) cells.push_back(row.cells[table.column(name)]);
    return cells;
  }

 private:
  testing::TemporaryFolder folder_;
  BatchPlan plan_{two_microbatches(), Tokens(std::vector<std::int32_t>{5, 1, 4, 1, 3, 9, 2, 6, 5, 3, 5, 8})};
  RecordingClock clock_;
  RecordWriter writer_;
  StepRows rows_;
};

using Cells = std::vector<std::string>;
const StepAction forward{0, 0, "0F0", 0, 0, true};

TEST(StepRows, DescribeEachMicrobatch) {
  RowsOfSteps rows;
  rows->step_began(2);
  rows.feed(2);
  rows->on_loss(1, at::scalar_tensor(0.0));
  rows->on_loss(0, at::scalar_tensor(1.5));
  rows->step_ended(2);

  const auto column = [&](const char* name) { return rows.column("microbatches.csv", name); };
  EXPECT_EQ(column("step"), (Cells{"2", "2"}));
  EXPECT_EQ(column("microbatch"), (Cells{"0", "1"}));
  EXPECT_EQ(column("sequence_length"), (Cells{"3", "4"}));
  EXPECT_EQ(column("batch"), (Cells{"2", "1"}));
  EXPECT_EQ(column("tokens"), (Cells{"5", "4"}));
  EXPECT_EQ(column("valid_tokens"), (Cells{"5", "0"}));
  EXPECT_EQ(column("loss"), (Cells{"1.5", "0"}));
  EXPECT_EQ(column("data_digest"), (Cells{data_digest(rows.plan().make(2, 0)), data_digest(rows.plan().make(2, 1))}));
}

TEST(StepRows, DescribeAStep) {
  RowsOfSteps rows;
  rows->step_began(0);
  rows->on_loss(0, at::scalar_tensor(1.5));
  rows->on_loss(1, at::scalar_tensor(0.25));
  rows->after_update(0, {}, {.gradient_norm = 2, .clip_coefficient = 0.5, .learning_rate = 0.125});
  rows->step_ended(0);

  const auto cell = [&](const char* name) { return rows.column("steps.csv", name).at(0); };
  EXPECT_EQ(cell("step"), "0");
  EXPECT_EQ(cell("loss"), "1.75");
  EXPECT_EQ(cell("gradient_norm"), "2");
  EXPECT_EQ(cell("clip_coefficient"), "0.5");
  EXPECT_EQ(cell("learning_rate"), "0.125");
  EXPECT_EQ(cell("tokens"), "9");
  EXPECT_EQ(cell("valid_tokens"), "5");
  EXPECT_EQ(cell("live_tokens"), std::to_string(rows.plan().live_tokens(0)));
  EXPECT_EQ(rows->loss(), 1.75F);
  EXPECT_EQ(rows->update().gradient_norm, 2);
}

TEST(StepRows, HaveTheLargestActivationPeak) {
  RowsOfSteps rows;
  rows->step_began(0);
  for (const std::int64_t bytes : {300, 500, 200}) rows->add_activation_peak(bytes);
  rows->step_ended(0);
  rows->step_began(1);
  rows->add_activation_peak(100);
  rows->step_ended(1);

  EXPECT_EQ(rows.column("memory.csv", "activation_peak_bytes"), (Cells{"500", "100"}));
}

TEST(StepRows, SumTheWaitsOfAStep) {
  RowsOfSteps rows;
  rows->step_began(0);
  rows->waited(forward, 1'500'000'000);
  rows->waited(forward, 500'000'000);
  EXPECT_EQ(rows->waited_seconds(), 2);

  rows->step_began(1);
  EXPECT_EQ(rows->waited_seconds(), 0);
}

TEST(StepRows, HaveNoLossOnOtherRanks) {
  RowsOfSteps rows(false);
  rows->step_began(0);
  rows.feed(0);
  rows->step_ended(0);

  EXPECT_EQ(rows.column("microbatches.csv", "loss"), (Cells{"", ""}));
  EXPECT_EQ(rows.column("steps.csv", "loss"), Cells{""});
  EXPECT_EQ(rows->loss(), std::nullopt);
}

TEST(StepRows, DigestDataOnlyForARecord) {
  RowsOfSteps recorded, unrecorded(true, RecordLevel::none);
  for (RowsOfSteps* rows : {&recorded, &unrecorded}) {
    (*rows)->step_began(0);
    rows->feed(0);
    (*rows)->on_loss(0, at::scalar_tensor(1.5));
    (*rows)->step_ended(0);
    EXPECT_EQ((*rows)->loss(), 1.5F);
  }

  EXPECT_NE(recorded.column("microbatches.csv", "data_digest"), (Cells{"", ""}));
  EXPECT_EQ(unrecorded.column("microbatches.csv", "data_digest"), Cells{});
  EXPECT_EQ(unrecorded.column("steps.csv", "step"), Cells{});
}

}  // namespace
}  // namespace plumbline
