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

TEST(Junit, AHoldingSweepHasNoFailure) {
  const std::string xml = junit_xml(two_cells());

  EXPECT_EQ(testing::parse_markup(xml, false).error, "");
  EXPECT_EQ(times_in(xml, "<testsuite "), 4u) << "one a cell, the reference's and the sweep's own";
  EXPECT_EQ(times_in(xml, "<testcase "), 33u) << "15 checks in each cell, the reference's end and bench, the verdict";
  EXPECT_EQ(times_in(xml, "<failure "), 0u);
  EXPECT_EQ(times_in(xml, "<skipped "), 2u) << "repeatability does not apply to either cell";
  EXPECT_THAT(xml, HasSubstr("tests=\"33\" failures=\"0\" errors=\"0\" skipped=\"2\" time=\"6.5\""));
}

TEST(Junit, AFailureCarriesItsPlaceItsMeasureAndTheCommand) {
  Verdict verdict = two_cells();
  testing::break_check(verdict, 1, "boundaries");
  check_of(verdict.cells[1], "boundaries").measured = "12 of 640 tensors differ";

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(times_in(xml, "<failure "), 2u) << "the check and the verdict";
  EXPECT_EQ(times_in(xml, " failures=\"2\""), 1u) << "of all suites";
  EXPECT_EQ(times_in(xml, " failures=\"1\""), 2u);
  EXPECT_THAT(xml, HasSubstr("message=\"differs: 12 of 640 tensors differ from the reference&#39;s\""));
  EXPECT_THAT(xml,
              HasSubstr("limit: 0 ULP: same microbatches on the same kind of device&#10;measured: 12 of 640 tensors "
                        "differ&#10;first divergence: step 1, microbatch 3, stage 2, rank 2, backward, layers.3; "
                        "expected e9ae472f8e0534b67486a13c09695146, got 77b3d71dc009b6ec2f49a7bfef15fa25&#10;"));
  EXPECT_THAT(xml, HasSubstr("run this case again: plumbline sweep"));
}

TEST(Junit, ARequiredCheckThatDidNotRunIsAFailureAndAnOptionalOneIsNot) {
  Verdict verdict = two_cells();
  for (auto& cell : verdict.cells) {
    check_of(cell, "memory").outcome = Outcome::incomplete;
    check_of(cell, "gradient_norm").outcome = Outcome::incomplete;
  }
  check_of(verdict.cells[1], "memory").required = false;
  check_of(verdict.cells[1], "gradient_norm").required = false;

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(times_in(xml, "<failure type=\"incomplete\""), 2u);
  EXPECT_EQ(times_in(xml, "<skipped "), 4u);
}

TEST(Junit, ARedVerdictWithoutARedCheckIsRed) {
  Verdict verdict = two_cells();
  verdict.holds = false;
  verdict.cells[0].holds = false;
  verdict.cells[0].checks.clear();
  verdict.not_run = {"untied, P = 8: stopped by hand"};

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(times_in(xml, "<failure "), 2u) << "the cell without a check and the verdict";
  EXPECT_THAT(xml, HasSubstr("name=\"untied, P = 8\" time=\"0\"><skipped message=\"stopped by hand\"/>"));
}

TEST(Junit, ACellThatItsScheduleCannotHaveIsSkippedWithItsReason) {
  Verdict verdict = two_cells();
  verdict.not_applicable = {"untied-dualpipe-v-w8: 16 microbatches needed"};

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(times_in(xml, "<failure "), 0u);
  EXPECT_THAT(xml, HasSubstr("name=\"untied-dualpipe-v-w8\" time=\"0\"><skipped message=\"16 microbatches needed\"/>"));
}

TEST(Junit, NamesComeFromWhatACellIsAndStayWhenOthersAreAdded) {
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

TEST(Junit, ACrashIsAnErrorAndWhatLiesBehindItIsNoFailureOfItsOwn) {
  Verdict verdict = two_cells();
  verdict.holds = verdict.cells[0].holds = false;
  for (auto& check : verdict.cells[0].checks) check.outcome = Outcome::incomplete;
  CheckResult& completion = check_of(verdict.cells[0], "completion");
  completion.outcome = Outcome::differs;
  completion.reason = "rank 1 was killed";

  const std::string xml = junit_xml(verdict, {{verdict.cells[0].id, {"", "terminate called\n<what>"}}});

  EXPECT_EQ(times_in(xml, "<error type=\"crash\" message=\"differs: rank 1 was killed\">"), 1u);
  EXPECT_EQ(times_in(xml, "<failure "), 1u) << "the verdict alone";
  EXPECT_EQ(times_in(xml, "<skipped "), 15u) << "14 behind the crash, and what does not apply to the other cell";
  EXPECT_THAT(xml, HasSubstr("<system-out>terminate called&#10;&lt;what&gt;</system-out>"));
  EXPECT_EQ(testing::parse_markup(xml, false).error, "");
}

TEST(Junit, AReferenceThatDidNotFinishIsAnError) {
  Verdict verdict = two_cells();
  verdict.references[0].finished = false;
  verdict.references[0].reason = "it ended with code 1";

  EXPECT_THAT(junit_xml(verdict),
              HasSubstr("<error type=\"crash\" message=\"nothing can be compared with it: it ended with code 1\">"));
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

TEST(Junit, WhatIsNotKnownLeavesNoHoleInAName) {
  CellVerdict cell;
  cell.run = "mine";
  cell.world = 2;
  EXPECT_EQ(suite_name(cell), "mine/P2");
}

TEST(Junit, PropertiesSayVersionsTierAndSelection) {
  Verdict verdict = two_cells();
  verdict.selection.of_cells = 123;
  verdict.cells[0].versions = {{"mpi", "Open MPI 4.1.4"}, {"nccl", nullptr}, {"transport", "mpi"}};

  const std::string xml = junit_xml(verdict);

  for (const char* property :
       {"name=\"tier\" value=\"bits\"", "name=\"selection\" value=\"Holds in part: 2 of 123 cases\"",
        "name=\"harness.commit\" value=\"0123456789ab\"", "name=\"candidate.mpi\" value=\"Open MPI 4.1.4\"",
        "name=\"candidate.transport\" value=\"mpi\"", "name=\"reference.libtorch\" value=\"2.11.0\""}) {
    EXPECT_THAT(xml, HasSubstr(std::string("<property ") + property)) << property;
  }
  EXPECT_THAT(xml, Not(HasSubstr("candidate.nccl")));
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

TEST(Junit, WhatASecondRunGaveIsAProperty) {
  Verdict verdict = two_cells();
  testing::break_check(verdict, 0, "loss");
  verdict.cells[0].second_run = SecondRun{SecondRun::Outcome::fails_again, "loss fails"};

  const std::string xml = junit_xml(verdict);

  EXPECT_THAT(xml, HasSubstr("<property name=\"second_run\" value=\"fails_again: loss fails\"/>"));
  EXPECT_EQ(times_in(xml, "type=\"unstable\""), 0U);
  verdict.cells[0].second_run->outcome = SecondRun::Outcome::holds;
  EXPECT_THAT(junit_xml(verdict), HasSubstr("name=\"second_run\" time=\"0\"><failure type=\"unstable\""));
}

TEST(Junit, EachReferenceHasASuiteOfItsOwn) {
  const std::string xml = junit_xml(testing::sample_verdict(1));

  for (const char* name : {"stories260k/adamw/reference/stories260k-adamw", "untied/sgd/reference/untied-sgd"})
    EXPECT_EQ(times_in(xml, std::string("<testsuite name=\"") + name + "\""), 1U) << name;
}

}  // namespace
}  // namespace plumbline
