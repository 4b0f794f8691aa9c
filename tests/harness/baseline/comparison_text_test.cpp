// SPDX-License-Identifier: BSD-3-Clause
// Text and JSON of a comparison with a baseline.
#include <gtest/gtest.h>

#include "harness/baseline/baseline_comparison.hpp"

namespace plumbline::testing {
namespace {

BaselineComparison baseline_comparison() {
  BaselineComparison found;
  found.name = "release";
  found.sweep = "quick";
  found.commit_before = "aaa";
  found.commit_now = "bbb";
  found.runs = 2;
  found.losses = 3;
  found.parameters = 4;
  found.byte_counts = 5;
  found.changes = {{ChangeKind::bits, "cell-2", "loss 1 before, 2 now"},
                   {ChangeKind::coverage, "cell-3", "is not run"},
                   {ChangeKind::bytes, "cell-4", "more"},
                   {ChangeKind::bits, "cell-5", "norm"}};
  found.environment = {{"versions/libtorch", "2.10", "2.11"}};
  found.not_compared = {"cell-6: is new"};
  found.allowed = {ChangeKind::bits, ChangeKind::coverage};
  found.reason = "another optimiser";
  return found;
}

TEST(ComparisonText, TellsKindsInOrderWithWhatIsAllowed) {
  EXPECT_EQ(to_text(baseline_comparison()),
            "CHANGED since baseline release, commits aaa..bbb\n"
            "compared: 2 runs, 3 losses, 4 parameters at the end, 5 numbers of bytes\n"
            "bits (allowed: another optimiser):\n  cell-2: loss 1 before, 2 now\n  cell-5: norm\n"
            "bytes:\n  cell-4: more\n"
            "coverage (allowed: another optimiser):\n  cell-3: is not run\n"
            "what differs in machine, versions and environment:\n  versions/libtorch: 2.10 before, 2.11 now\n"
            "not compared:\n  cell-6: is new\n");
}

TEST(ComparisonText, TheFirstLineSaysWhatHolds) {
  const auto first_line = [](const BaselineComparison& found) {
    const std::string text = to_text(found);
    return text.substr(0, text.find('\n'));
  };
  BaselineComparison found = baseline_comparison();
  found.allowed = {ChangeKind::bits, ChangeKind::bytes, ChangeKind::coverage};
  EXPECT_EQ(first_line(found), "CHANGED AS ALLOWED since baseline release, commits aaa..bbb");
  found.changes.clear();
  found.commit_now = "";
  EXPECT_EQ(first_line(found), "EQUAL to baseline release") << "of one commit alone nothing is told";
  found.commit_now = "bbb";
  found.commit_before = "";
  EXPECT_EQ(first_line(found), "EQUAL to baseline release");
  found.losses = found.parameters = found.byte_counts = 0;
  EXPECT_EQ(first_line(found), "NOTHING COMPARABLE with baseline release");
  EXPECT_EQ(to_json(found).at("holds"), false) << "of nothing nothing holds";
}

TEST(ComparisonText, ForProgramsEachKeyIsItsOwn) {
  EXPECT_EQ(to_json(baseline_comparison()), Json::parse(R"({
    "schema": "plumbline-baseline-comparison/1", "baseline": "release", "sweep": "quick", "holds": false,
    "commit_before": "aaa", "commit_now": "bbb",
    "compared": {"runs": 2, "losses": 3, "parameters": 4, "byte_counts": 5},
    "changes": [{"kind": "bits", "where": "cell-2", "words": "loss 1 before, 2 now"},
                {"kind": "coverage", "where": "cell-3", "words": "is not run"},
                {"kind": "bytes", "where": "cell-4", "words": "more"},
                {"kind": "bits", "where": "cell-5", "words": "norm"}],
    "environment": [{"key": "versions/libtorch", "before": "2.10", "now": "2.11"}],
    "not_compared": ["cell-6: is new"], "red": [], "allowed": ["bits", "coverage"], "reason": "another optimiser"})"));
}

}  // namespace
}  // namespace plumbline::testing
