#include "reports/junit.hpp"

#include <gmock/gmock.h>

#include "tests/reports/sample_sweep.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using testing::check_of;
using ::testing::HasSubstr;
using ::testing::Not;

Verdict two_cells() {
  Verdict verdict = testing::sample_verdict(1);
  verdict.cells.resize(2);
  return verdict;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Junit, AHoldingSweepHasNoFailure) {
  const std::string xml = junit_xml(two_cells());

  EXPECT_EQ(testing::parse_markup(xml, false).error, "");
  EXPECT_EQ(count(xml, "<testsuite "), 3u) << "one a cell and the sweep's own";
  EXPECT_EQ(count(xml, "<testcase "), 29u) << "14 checks in each cell and the verdict";
  EXPECT_EQ(count(xml, "<failure "), 0u);
  EXPECT_EQ(count(xml, "<skipped "), 2u) << "repeatability does not apply to either cell";
  EXPECT_THAT(xml, HasSubstr("tests=\"29\" failures=\"0\" errors=\"0\" skipped=\"2\" time=\"5\""));
}

TEST(Junit, AFailureCarriesItsPlaceAndTheCommand) {
  Verdict verdict = two_cells();
  testing::break_check(verdict, 1, "boundaries");

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(count(xml, "<failure "), 2u) << "the check and the verdict";
  EXPECT_THAT(xml, HasSubstr("message=\"fails: 12 of 640 tensors differ from the reference&#39;s\""));
  EXPECT_THAT(xml, HasSubstr("step 1, microbatch 3, stage 2, rank 2, backward, layers.3"));
  EXPECT_THAT(xml, HasSubstr("run this cell again: plumbline sweep"));
}

TEST(Junit, ARequiredCheckThatDidNotRunIsAFailureAndAnOptionalOneIsNot) {
  Verdict verdict = two_cells();
  for (auto& cell : verdict.cells) {
    check_of(cell, "memory").outcome = Outcome::not_run;
    check_of(cell, "gradient_norm").outcome = Outcome::not_triggered;
  }
  check_of(verdict.cells[1], "memory").required = false;
  check_of(verdict.cells[1], "gradient_norm").required = false;

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(count(xml, "<failure type=\"not_run\""), 1u);
  EXPECT_EQ(count(xml, "<failure type=\"not_triggered\""), 1u);
  EXPECT_EQ(count(xml, "<skipped "), 4u);
}

TEST(Junit, ARedVerdictWithoutARedCheckIsRed) {
  Verdict verdict = two_cells();
  verdict.holds = false;
  verdict.cells[0].holds = false;
  verdict.cells[0].checks.clear();
  verdict.not_run = {"untied, P = 8: stopped by hand"};

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(count(xml, "<failure "), 2u) << "the cell without a check and the verdict";
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"untied, P = 8: stopped by hand\"/>"));
}

TEST(Junit, ACellThatItsScheduleCannotHaveIsSkippedWithItsReason) {
  Verdict verdict = two_cells();
  verdict.not_applicable = {"untied-dualpipe-v-w8: 16 microbatches needed"};

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(count(xml, "<failure "), 0u);
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"untied-dualpipe-v-w8: 16 microbatches needed\"/>"));
}

TEST(Junit, HostileTextStaysText) {
  Verdict verdict = two_cells();
  testing::break_check(verdict, 0, "loss");
  verdict.name = "<\"&'>";
  verdict.cells[0].id = "]]><script>\x01";
  check_of(verdict.cells[0], "loss").reason = "line\nbreak & \xFF <b>";

  const std::string xml = junit_xml(verdict);

  EXPECT_EQ(testing::parse_markup(xml, false).error, "");
  EXPECT_THAT(xml, Not(HasSubstr("<script>")));
  EXPECT_THAT(xml, Not(HasSubstr("]]>")));
}

}  // namespace
}  // namespace plumbline
