// SPDX-License-Identifier: BSD-3-Clause
#include "reports/junit.hpp"

#include <gmock/gmock.h>

#include <set>

#include "tests/markup_text.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using testing::check_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::times_in;

Verdict two_cells() {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells.resize(2);
  verdict.references.resize(1);
  return verdict;
}

TEST(Junit, NamesOfCasesStayWhenOthersAreAdded) {
  Verdict verdict = testing::sample_verdict(3);
  verdict.cells.back().variant = "partition cost";
  const std::string before = junit_xml(verdict);
  std::set<std::string> names;
  for (const auto& cell : verdict.cells) names.insert(suite_name(cell));

  verdict.cells.insert(verdict.cells.begin(), testing::holding_cell("another", "sgd", "zb-v", 8));
  verdict.not_run = {"untied-w8: stopped by hand"};
  const std::string after = junit_xml(verdict);

  EXPECT_EQ(names.size(), verdict.cells.size() - 1) << "no two cells have one name";
  EXPECT_TRUE(names.contains("stories260k/adamw/afab/P2"));
  EXPECT_TRUE(names.contains("stories260k/adamw/1f1b/P4/balance-0-0-5-0/partition cost"));
  for (const auto& name : names) {
    EXPECT_THAT(before, HasSubstr("<testsuite name=\"" + name + "\""));
    EXPECT_THAT(after, HasSubstr("<testsuite name=\"" + name + "\""));
  }
  EXPECT_THAT(after, HasSubstr("name=\"untied-w8\" time=\"0\"><skipped message=\"stopped by hand\"/>"));
}

TEST(Junit, ACrashIsAnErrorAndLaterChecksAreSkipped) {
  Verdict verdict = two_cells();
  verdict.holds = verdict.cells[0].holds = false;
  for (auto& check : verdict.cells[0].checks) check.outcome = Outcome::incomplete;
  CheckResult& completion = check_of(verdict.cells[0], "completion");
  completion.outcome = Outcome::differs;
  completion.reason = "rank 1 was killed";

  const std::string xml = junit_xml(verdict, {{verdict.cells[0].id, {"", "terminate called\n<what>"}}});

  EXPECT_EQ(times_in(xml, "<error type=\"crash\" message=\"differs: rank 1 was killed\">"), 1u);
  EXPECT_EQ(times_in(xml, "<failure "), 1u) << "only the verdict";
  EXPECT_EQ(times_in(xml, "<skipped "), 15u) << "14 after the crash, and what does not apply to the other case";
  EXPECT_THAT(xml, HasSubstr("<system-out>terminate called&#10;&lt;what&gt;</system-out>"));
  EXPECT_EQ(testing::parse_markup(xml, false).error, "");
}

TEST(Junit, TotalsAreTheSumsOfTheSuites) {
  Verdict verdict = two_cells();
  testing::break_check(verdict, 1, "boundaries");
  CheckResult& completion = check_of(verdict.cells[0], "completion");
  completion.outcome = Outcome::differs;
  verdict.references[0].finished = false;
  verdict.not_run = {"c: why"};

  const std::string xml = junit_xml(verdict);

  for (const auto& [counted, least] :
       {std::pair<std::string, long>("tests", 34), {"failures", 2}, {"errors", 2}, {"skipped", 2}}) {
    long total = -1, sum = 0;
    const std::string begin = " " + counted + "=\"";
    for (auto at = xml.find(begin); at != std::string::npos; at = xml.find(begin, at + 1)) {
      const long number = std::atol(xml.c_str() + at + begin.size());
      (total < 0 ? total : sum) += total < 0 ? number + 1 : number;
    }
    EXPECT_EQ(total, sum) << counted;
    EXPECT_GE(total, least) << counted;
  }
}

TEST(Junit, UnknownPartsLeaveNoGapInAName) {
  CellVerdict cell;
  cell.run = "mine";
  cell.world = 2;
  EXPECT_EQ(suite_name(cell), "mine/P2");
}

TEST(Junit, HostileTextStaysText) {
  Verdict verdict = two_cells();
  testing::break_check(verdict, 0, "loss");
  verdict.name = "<\"&'>";
  verdict.cells[0].id = verdict.cells[0].run = "]]><script>\x01";
  check_of(verdict.cells[0], "loss").reason = "line\nbreak & \xFF <b>";

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(testing::parse_markup(xml, false).error, "");
  EXPECT_THAT(xml, Not(HasSubstr("<script>")));
  EXPECT_THAT(xml, Not(HasSubstr("]]>")));
}

}  // namespace
}  // namespace plumbline
