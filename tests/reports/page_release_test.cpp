// SPDX-License-Identifier: BSD-3-Clause
// What is signed: each check's cells in the column of what came of them; on what it ran.
#include <gmock/gmock.h>

#include "tests/reports/page_sections.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::check_of;
using ::testing::HasSubstr;
using ::testing::Not;

std::string release_of(const Verdict& verdict) {
  return testing::section_of(testing::rendered_page(verdict), "<h2 id=\"release\">", "id=\"checks\">");
}

TEST(PageRelease, EachColumnCountsItsOwn) {
  Verdict verdict = testing::sample_verdict(1);  // 12 cells
  const auto set = [&](std::size_t from, std::size_t to, Outcome outcome, bool required) {
    for (std::size_t i = from; i < to; ++i) {
      check_of(verdict.cells[i], "memory").outcome = outcome;
      check_of(verdict.cells[i], "memory").required = required;
    }
  };
  set(0, 1, Outcome::differs, true);
  set(1, 3, Outcome::incomplete, true);
  set(3, 6, Outcome::incomplete, false);
  set(6, 10, Outcome::does_not_apply, false);

  const std::string text = release_of(verdict);

  EXPECT_THAT(testing::bare(text),
              HasSubstr("<tr><th>check</th><th>holds</th><th>differs</th><th>incomplete"
                        "</th><th>not required</th><th>not requested</th><th>does not apply</th>"));
  EXPECT_THAT(testing::bare(text), HasSubstr("<tr><th>memory</th><td>2</td><td>1</td><td>2</td><td>3</td><td>0</td>"
                                             "<td>4</td><td>\u2717 3</td><td>\u00B7</td><td>\u2713</td></tr>"));
  EXPECT_THAT(testing::bare(text), HasSubstr("<tr><th>loss</th><td>12</td><td>0</td><td>0</td><td>0</td><td>0</td>"
                                             "<td>0</td><td>\u2713</td><td>\u2713</td><td>\u2713</td></tr>"));
}

TEST(PageRelease, WhatWasNotAskedForIsNoneOfIncomplete) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.selection.checks = {"loss"};
  for (CellVerdict& cell : verdict.cells) {
    check_of(cell, "memory").outcome = Outcome::incomplete;
    check_of(cell, "memory").required = false;
  }

  EXPECT_THAT(testing::bare(release_of(verdict)), HasSubstr("<tr><th>memory</th><td>0</td><td>0</td><td>0</td><td>0"
                                                            "</td><td>12</td><td>0</td>"));
}

TEST(PageRelease, ACheckThatFailsStandsOut) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "loss");

  const std::string text = release_of(verdict);

  EXPECT_THAT(text, HasSubstr("<tr><th scope=\"row\" class=\"fail\">loss</th>"));
  EXPECT_THAT(text, HasSubstr("<tr><th scope=\"row\">data</th>"));
}

std::string machine_of(const std::string& page) {
  return testing::bare(testing::section_of(page, "<h2 id=\"machine\">", "<footer>"));
}

TEST(PageMachine, VersionsOfTheJudgeAndOfEachKindOfPipelineAreTold) {
  Verdict verdict = testing::sample_verdict(1);
  EXPECT_THAT(machine_of(testing::rendered_page(verdict)),
              AllOf(HasSubstr("<h3>this judge</h3>"), HasSubstr("<dt>version</dt><dd>1.2.3</dd>"),
                    HasSubstr("<h3>the pipeline</h3>"), Not(HasSubstr("in other cases"))));

  verdict.cells[5].versions["mpi"] = "MPICH 4.2";
  const std::string text = machine_of(testing::rendered_page(verdict));
  const auto other = text.find("<h3>the pipeline, in other cases</h3>");
  ASSERT_NE(other, std::string::npos);
  EXPECT_NE(text.find("<dt>mpi</dt><dd>MPICH 4.2</dd>", other), std::string::npos);
}

TEST(PageMachine, AReferencesRowHasEachNumberInItsColumn) {
  const Verdict verdict = testing::sample_verdict(1);

  EXPECT_THAT(machine_of(make_page(verdict, testing::sample_evidence(verdict, 5))),
              HasSubstr("<tr><th>reference</th><th>dtype</th><th>seed</th><th>steps</th><th>microbatches</th><th>data "
                        "digest</th><th>source</th></tr></thead><tbody>\n<tr><td>stories260k-adamw</td><td>float32"
                        "</td><td>7</td><td>5</td><td>8</td><td><code>01234567...</code></td>"
                        "<td>corpus/prose.txt</td></tr>"));
}

TEST(PageMachine, AVerdictWithoutAMachineSaysSo) {
  Verdict verdict;
  verdict.machine = Json::object();

  EXPECT_THAT(make_page(verdict, {}), HasSubstr("The verdict names no machine."));
}

}  // namespace
}  // namespace plumbline
