// Every cell at a glance: each square in its row and column, with the sign of what became of it.
#include <gmock/gmock.h>

#include "reports/page.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

std::string overview_of(const Verdict& verdict) {
  return testing::bare(
      testing::section_of(testing::rendered_page(verdict), "<div class=\"overview\">", "<h2 id=\"release\">"));
}

TEST(PageOverview, SquaresStandUnderTheirWorldSizeWithTheirSign) {
  Verdict verdict = testing::sample_verdict(3);
  verdict.cells.resize(6);  // afab and 1f1b
  testing::break_check(verdict, 0, "loss");
  testing::break_check(verdict, 2, "completion");
  testing::break_check(verdict, 3, "loss");
  verdict.cells[3].second_run = SecondRun{SecondRun::Outcome::holds, ""};
  verdict.cells.erase(verdict.cells.begin() + 1);  // afab on two ranks

  const std::string text = overview_of(verdict);

  EXPECT_THAT(text, HasSubstr("<tr><th>world size P</th><th>1</th><th>2</th><th>3</th></tr>"));
  EXPECT_THAT(text, HasSubstr("<tr><th>afab</th><td><a>\u2717</a></td><td></td><td><a>!</a></td></tr>"));
  EXPECT_THAT(text, HasSubstr("<tr><th>1f1b</th><td><a>~</a></td><td><a>\u2713</a></td><td><a>\u2713</a></td></tr>"));
}

TEST(PageOverview, EachModelAndOptimiserHasItsTable) {
  const std::string text = overview_of(testing::sample_verdict(1));

  for (const char* title : {"stories260k, adamw", "stories260k, sgd", "untied, adamw", "untied, sgd"})
    EXPECT_THAT(text, HasSubstr(std::string("<caption>") + title + "</caption>"));
}

}  // namespace
}  // namespace plumbline
