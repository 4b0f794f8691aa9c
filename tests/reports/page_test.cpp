// SPDX-License-Identifier: BSD-3-Clause
#include "reports/page.hpp"

#include <gmock/gmock.h>

#include <set>

#include "reports/headline.hpp"
#include "reports/words.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using testing::check_of;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::rendered_page;

TEST(Page, ClaimsNoBitsIfOneCaseLacksOneComparison) {
  for (const char* name : {"loss", "boundaries", "gradients", "gradient_norm", "parameters"}) {
    Verdict verdict = testing::sample_verdict(1);
    check_of(verdict.cells[2], name).outcome = Outcome::incomplete;
    check_of(verdict.cells[2], name).required = false;

    const std::string page = rendered_page(verdict);

    EXPECT_THAT(page, Not(HasSubstr("same bits"))) << name;
    EXPECT_THAT(page, HasSubstr(std::string("computed the same: ") + name + " was not requested or could not be run"))
        << name;
  }
}

TEST(Page, HostileTextStaysText) {
  Verdict verdict = testing::sample_verdict(1);
  testing::break_check(verdict, 0, "loss");
  for (auto& cell : verdict.cells) {
    cell.model = "<script>alert(1)</script>";
    cell.schedule = "'\"><b>";
    cell.command = "x && y > z";
  }
  check_of(verdict.cells[0], "loss").reason = "</td>{{title}}{{{mark}}}";
  verdict.name = "</title><script>";
  verdict.not_run = {"<img src=x onerror=alert(1)>"};
  verdict.machine["machine"]["<b>cpu"] = "a\x01z";

  const std::string page = make_page(verdict, testing::sample_evidence(verdict, 2));

  const testing::Markup markup = testing::parse_markup(page, true);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(markup.elements, ::testing::AllOf(Each(::testing::Ne("img")), ::testing::Contains("script").Times(1)));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("{{title}}{{{mark}}}")) << "a reason is not a template";
}

TEST(Page, IsSelfContainedWithUniqueIdsAndNoDeadLinks) {
  Verdict verdict = testing::sample_verdict(3);
  testing::break_check(verdict, 1, "gradients");

  const testing::Markup markup = testing::parse_markup(make_page(verdict, testing::sample_evidence(verdict, 3)), true);

  EXPECT_EQ(markup.error, "");
  const std::set<std::string> ids(markup.ids.begin(), markup.ids.end());
  std::set<std::string> records;  // of failing cases, which `--keep failures` keeps
  for (const CellVerdict& cell : verdict.cells)
    if (!cell.holds) records.insert("cells/" + cell.id + "/");
  EXPECT_EQ(ids.size(), markup.ids.size()) << "an id occurs twice";
  EXPECT_GT(markup.references.size(), 28u);
  for (const auto& reference : markup.references) {
    EXPECT_TRUE(records.contains(reference) || ids.contains(reference.substr(1)))
        << reference << ": the page must not load anything";
  }
}

TEST(Page, ALargeSweepStaysBelowTwoMebibytes) {
  Verdict verdict = testing::sample_verdict(8);
  ASSERT_GE(verdict.cells.size(), 68u);
  for (std::size_t i = 0; i < verdict.cells.size(); ++i) testing::break_check(verdict, i, "boundaries");

  const std::string page = make_page(verdict, testing::sample_evidence(verdict, 5));

  EXPECT_LT(page.size(), std::size_t{2} << 20);
  EXPECT_THAT(page, HasSubstr("<summary>67 more like these</summary>"));
}

TEST(Page, TableHeadersHaveAScopeAndTheScriptIsShort) {
  const std::string page = rendered_page(testing::sample_verdict(1));

  EXPECT_EQ(testing::times_in(page, "<th>"), 0U) << "a header lacks a scope";
  EXPECT_EQ(testing::times_in(page, "<script>"), 1U);
  const std::string script = page.substr(page.find("<script>"), page.find("</script>") - page.find("<script>"));
  EXPECT_LE(testing::times_in(script, "\n"), 40U) << "the page must work without it";
  EXPECT_THAT(page, Not(HasSubstr("all:unset"))) << "it would remove the focus ring";
  EXPECT_THAT(page, HasSubstr("<nav class=\"contents\" aria-label=\"Contents\">"));
}

}  // namespace
}  // namespace plumbline
