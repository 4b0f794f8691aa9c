// SPDX-License-Identifier: BSD-3-Clause
// On what it ran: versions of judge and pipelines, and what the references say of themselves.
#include <gmock/gmock.h>

#include "reports/page.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
