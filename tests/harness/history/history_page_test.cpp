#include "harness/history/history_page.hpp"

#include <gmock/gmock.h>

#include "harness/history/history_text.hpp"
#include "tests/harness/history/rows.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(HistoryPage, DrawsTheStepWithItsCommitAndTellsItInTheTable) {
  const std::string page = history_page({slower_after(20, 10), 0, {}});

  EXPECT_THAT(page, AllOf(HasSubstr("c00019..c00020"), HasSubstr("-10.1 % at c00020"), HasSubstr("role=\"img\"")));
  EXPECT_THAT(page, HasSubstr("quick-1f1b-w2: 30 points, holds, speed changed"));
}

TEST(HistoryPage, WithoutAChangeSaysSo) {
  const std::string page = history_page({slower_after(20, 0), 0, {"a note"}});

  EXPECT_THAT(page, AllOf(HasSubstr("No change was found."), HasSubstr("Note: a note."), Not(HasSubstr(" at c0"))));
}

TEST(HistoryPage, TheSameHistoryGivesTheSameBytes) {
  EXPECT_EQ(history_page({slower_after(20, 10), 0, {}}), history_page({slower_after(20, 10), 0, {}}));
}

TEST(HistoryPage, WhateverNamesStandInItAreText) {
  auto rows = slower_after(20, 10);
  for (HistoryRow& row : rows) {
    row.machine_name = "<script>machine</script>";
    row.sweep = "<script>sweep</script>";
    row.run = "<script>run</script>";
    row.commit = "<i>" + row.commit;
    row.bits = "<b>";
  }

  const std::string page = history_page({rows, 0, {"<u>note</u>"}});

  EXPECT_THAT(page,
              AllOf(Not(HasSubstr("<script>")), Not(HasSubstr("<i>")), Not(HasSubstr("<u>")), Not(HasSubstr("<b>"))));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;run"));
}

TEST(HistoryPage, AnEmptyHistoryIsAPage) {
  EXPECT_THAT(history_page({}), HasSubstr("No change was found."));
}

TEST(HistoryPage, TenThousandPointsStayUnderTwoMegabytes) {
  std::vector<HistoryRow> rows;
  for (int i = 0; i < 10000; ++i) {
    rows.push_back(history_row_of(0, 1.6 * hair(i)));
    char taken[32];
    std::snprintf(taken, sizeof taken, "2026-01-%02dT%02d:%02d:%02dZ", 1 + i / 3600, i / 60 % 24, i % 60,
                  i / 1440 % 60);
    rows.back().taken = taken;
  }

  EXPECT_LT(history_page({rows, 0, {}}).size(), 2000000U);
}

TEST(HistoryText, TellsChangesFirstAndPointsWhereAsked) {
  const History history{slower_after(20, 10), 0, {"a note"}};

  const std::string text = history_text(history, "", true);

  EXPECT_THAT(text, ::testing::StartsWith("30 rows, 30 commits, 1 machine\nnote: a note\nchanges, newest first:\n"));
  EXPECT_THAT(text, HasSubstr("; commits c00019..c00020\n"));
  EXPECT_THAT(text, HasSubstr("sweep quick, quick-1f1b-w2: 30 points, holds, tokens/s over the reference's 1.4"));
  EXPECT_THAT(history_text(history, "no such run"), HasSubstr("no change was found\n"));
}

}  // namespace
}  // namespace plumbline::testing
