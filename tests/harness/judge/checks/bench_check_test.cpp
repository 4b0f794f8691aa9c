// SPDX-License-Identifier: BSD-3-Clause
// Whether data can show every fault: changes to a reference's record, and what the check says.
#include <gtest/gtest.h>

#include <sstream>

#include "harness/judge/checks/checks.hpp"
#include "support/numbers.hpp"
#include "tests/approved.hpp"
#include "tests/harness/judge/sample_cells.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;

/// "3/2 1/1 ...": length and valid tokens of each microbatch. Updates tokens, the losses weighted by them, and the
/// steps' sums.
void make_sizes(SyntheticRun& run, const std::string& sizes) {
  std::vector<std::int64_t> lengths, valid;
  std::istringstream words(sizes);
  char slash = '/';
  for (std::int64_t length = 0, counted = 0; words >> length >> slash >> counted;)
    lengths.push_back(length), valid.push_back(counted);
  std::int64_t tokens = 0, valid_of_step = 0;
  for (std::size_t m = 0; m < lengths.size(); ++m) tokens += lengths[m], valid_of_step += valid[m];
  for (RankRecord& rank : run.ranks) {
    for (StepRow& step : rank.steps) {
      step.tokens = tokens, step.valid_tokens = valid_of_step, step.loss = 0.0F;
      for (MicrobatchRow& row : rank.microbatches) {
        const auto m = static_cast<std::size_t>(row.microbatch);
        row.sequence_length = row.tokens = lengths.at(m);
        row.valid_tokens = valid[m];
        const float mean = 2.0F + 0.25F * static_cast<float>(m % 2);
        row.loss = mean * static_cast<float>(valid[m]) / static_cast<float>(valid_of_step);
        if (row.step == step.step) *step.loss += *row.loss;
      }
    }
  }
}

/// "start" with words of sample_cell(), "sizes" as above, "request" with a JSON object; other lines change the record.
std::string bench_of(const std::string& input) {
  std::istringstream lines(input);
  std::string line;
  std::unique_ptr<SampleCell> cell = sample_cell("start");
  BenchRequest request;
  std::vector<std::string> changes;
  while (std::getline(lines, line)) {
    if (line.starts_with("start")) {
      cell = sample_cell(line);
    } else if (line.starts_with("sizes ")) {
      make_sizes(cell->reference, line.substr(6));
    } else if (line.starts_with("request ")) {
      const Json json = Json::parse(line.substr(8));
      request.required = json.value("required", false);
      request.equal_lengths = json.value("equal_lengths", false);
      if (json.contains("loosest_loss")) request.loosest_loss = json["loosest_loss"].get<double>();
    } else {
      changes.push_back(line);
    }
  }
  const auto record = cell->write_reference();
  for (const std::string& change : changes) change_record(record, change);
  const CheckResult result = check_bench(RecordReading(record), request);
  EXPECT_EQ(result.name, "bench");
  EXPECT_TRUE(result.compared.empty()) << "the check compares nothing";
  std::string text = to_text(result.outcome) + (is_blocking(result) ? " (blocks): " : ": ") + result.reason;
  if (!result.measured.empty()) text += "\n" + result.measured;
  if (result.margin) text += ", margin " + to_text(*result.margin);
  if (changes.empty()) text += "\ninspected: " + Json(result.inspected).dump();
  return in_folder(cell->folder, text);
}

TEST(Bench, ChangedDataAreJudgedAsApproved) {
  expect_answers("bench.txt", bench_of);
}

}  // namespace
}  // namespace plumbline::testing
