// SPDX-License-Identifier: BSD-3-Clause
// Predicates over the tables of one record, each changed in one place, on ranks and in steps other than the first.
#include "harness/judge/predicates/predicates.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "record/record_stream.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

using predicates::Report;

std::vector<std::string> words_of(const Report& report) {
  std::vector<std::string> all;
  for (const Finding& finding : report.findings) all.push_back(finding.level + " " + plumbline::words_of(finding));
  return all;
}

/// `alone`: no other check sees the record.
Report report_of(const std::filesystem::path& record, bool alone, std::int64_t first_step = 0) {
  RecordStream stream(record, first_step);
  predicates::Predicates of_record(stream.record(), alone);
  for (std::optional<std::int64_t> step = -1; step; step = stream.next_step()) {
    stream.go_to(*step);
    of_record.step(*step);
  }
  return of_record.conclude();
}

const SyntheticPlan on_three_ranks = {.stages = {{"embed_tokens", "layers.0"}, {"layers.1"}, {"norm", "lm_head"}}};

/// Findings in the changed record; "(alone)" marks those that other checks of a comparison report.
std::string found_in(const std::string& changes) {
  TemporaryFolder folder;
  write_run(synthetic_candidate(on_three_ranks), folder / "record");
  std::istringstream lines(changes);
  for (std::string line; std::getline(lines, line);)
    if (line != "unchanged") change_record(folder / "record", line);
  const Report alone = predicates::judge_alone(folder / "record");
  const auto of_two = words_of(report_of(folder / "record", false));
  std::string text;
  for (const std::string& words : words_of(alone)) {
    const bool of_others = std::ranges::find(of_two, words) == of_two.end();
    text += words + (of_others ? " (alone)" : "") + "\n";
  }
  if (text.empty()) text = "consistent: " + Json(alone.judged).dump() + "\n";
  for (const std::string& what : alone.not_judged) text += "not judged: " + what + "\n";
  text.pop_back();
  return text;
}

TEST(Predicates, FindInChangedRecordsWhatIsApproved) {
  expect_answers("predicates.txt", found_in);
}

TEST(Predicates, OfARecordReadFromALaterStepStillNameLinesOfTheFiles) {
  TemporaryFolder folder;
  write_run(synthetic_candidate(on_three_ranks), folder / "record");
  change_record(folder / "record", "rank-1/steps step=1: tokens=12");

  EXPECT_THAT(words_of(report_of(folder / "record", true, 1)), ElementsAre(HasSubstr(" rank-1/steps.csv:3: ")));
}

}  // namespace
}  // namespace plumbline::testing
