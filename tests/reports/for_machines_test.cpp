// SPDX-License-Identifier: BSD-3-Clause
// summary.md, annotations.txt and ctest.txt.
#include <gmock/gmock.h>

#include <sstream>

#include "reports/annotations.hpp"
#include "reports/summary_md.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

Verdict broken() {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "gradients");
  return verdict;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Summary, HostileTextStaysTextInItsOwnCell) {
  Verdict verdict = broken();
  verdict.cells[0].first_divergence->words = "a | b\n# c <script> `d` *e* [f](g)";
  verdict.cells[0].command = "x | y `z`";

  const std::string text = summary_md(verdict);

  EXPECT_THAT(text, HasSubstr("a \\| b \\# c &lt;script\\> \\`d\\` \\*e\\* \\[f\\](g)"));
  EXPECT_THAT(text, HasSubstr("`x \\| y  z `"));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
}

TEST(Summary, CutsLongLists) {
  Verdict verdict = testing::sample_verdict(8);
  for (std::size_t i = 0; i < verdict.cells.size(); ++i) testing::break_check(verdict, i, "loss");

  const std::string text = summary_md(verdict);

  EXPECT_THAT(text, HasSubstr("and " + std::to_string(verdict.cells.size() - 40) + " more; report.html has them all"));
}

TEST(Annotations, NameEachFailingCellOnOneLine) {
  Verdict verdict = broken();
  verdict.cells[0].id = "a:b,c";
  verdict.cells[0].first_divergence->words = "100 % wrong,\nhere: there";
  verdict.not_run = {"other: no mpirun"};

  const auto lines = lines_of(annotations(verdict));

  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], StartsWith("::error title=a%3Ab%2Cc does not hold::100 %25 wrong,%0Ahere: there"));
  EXPECT_EQ(lines[1], "::error title=not run::other not run: no mpirun");
}

TEST(Annotations, AreANoticeIfAllHoldAndAtMostTen) {
  EXPECT_EQ(annotations(testing::sample_verdict(1)), "::notice title=Plumbline::Holds: 12 of 12 cases\n");

  Verdict many = testing::sample_verdict(8);
  for (std::size_t i = 0; i < many.cells.size(); ++i) testing::break_check(many, i, "loss");
  const auto lines = lines_of(annotations(many));
  ASSERT_THAT(lines, SizeIs(10));
  EXPECT_THAT(lines[9], HasSubstr("59 more are in report.html"));
}

TEST(CTestMeasurements, AreElementsThatCTestReads) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.name = "<s>";
  verdict.compared = {{"bytes", 3}, {"elements", 640}};

  Evidence evidence;
  evidence.cells["one"].ranks.resize(2);
  evidence.cells["one"].ranks[0].activation_bytes = 7;
  evidence.cells["one"].ranks[1].activation_bytes = 8;
  evidence.cells["two"].ranks.resize(1);
  evidence.cells["two"].ranks[0].process_bytes = 91;

  const std::string text = ctest_measurements(verdict, evidence, "/a/b&c/report.html");

  EXPECT_EQ(testing::parse_markup(text, false).error, "");
  std::vector<std::string> names;
  for (const std::string& line : lines_of(text)) {
    const auto name = line.find("name=\"") + 6;
    names.push_back(line.substr(name, line.find('"', name) - name));
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("verdict", "commit", "cases", "cases_holding", "compared_elements",
                                     "largest_activation_bytes", "largest_process_bytes", "run_seconds", "report"));
  EXPECT_THAT(text, HasSubstr("name=\"compared_elements\">640</"));
  EXPECT_THAT(text,
              HasSubstr("<CTestMeasurement type=\"numeric/integer\" name=\"cases_holding\">12</CTestMeasurement>"));
  EXPECT_THAT(text,
              HasSubstr("<CTestMeasurement type=\"text/string\" name=\"commit\">0123456789ab</CTestMeasurement>"));
  EXPECT_THAT(text, HasSubstr("<CTestMeasurement type=\"numeric/double\" name=\"run_seconds\">36</CTestMeasurement>"));
  EXPECT_THAT(text, HasSubstr("name=\"largest_activation_bytes\">8</"));
  EXPECT_THAT(text, HasSubstr("name=\"largest_process_bytes\">91</"));
  EXPECT_THAT(text, HasSubstr("name=\"report\">/a/b&amp;c/report.html</CTestMeasurementFile>"));
}

TEST(Annotations, WithoutADivergenceNameTheFirstFailedCheck) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "memory");
  verdict.cells[0].first_divergence.reset();
  verdict.cells[0].second_run = SecondRun{SecondRun::Outcome::holds, ""};

  EXPECT_EQ(annotations(verdict),
            "::error title=stories260k-adamw-afab-w1 is unstable::memory: 12 of 640 tensors differ from the "
            "reference's%0ARun again: plumbline sweep sweeps/default.toml --cells stories260k-adamw-afab-w1\n");
}

}  // namespace
}  // namespace plumbline
