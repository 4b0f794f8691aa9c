#include "harness/history/history_page.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "harness/history/history_text.hpp"
#include "tests/harness/history/rows.hpp"
#include "tests/markup_text.hpp"

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

/// Three runs on two machines, each looked at on two days: the second time `changed` did that to the rows of the first
/// machine.
History two_days(const std::function<void(HistoryRow&)>& changed) {
  History history;
  for (const int day : {0, 1}) {
    for (const char* run : {"a-1f1b-w1", "a-1f1b-w2", "a-zb-v-w2"}) {
      history.rows.push_back(history_row_of(day));
      history.rows.back().run = run;
      if (day == 1 && changed) changed(history.rows.back());
    }
    HistoryRow elsewhere = history_row_of(day);
    elsewhere.machine = "ffffffffffff";
    elsewhere.machine_name = "Another Processor, 8 cores";
    elsewhere.source = "bench";
    elsewhere.speed->rounds = 12;
    history.rows.push_back(elsewhere);
  }
  return history;
}

TEST(HistoryPage, BeginsWithWhatItHolds) {
  History history = two_days({});
  EXPECT_THAT(history_page(history), HasSubstr("<p>8 rows of 2 commits on 2 machines, from 2026-01-01T10:00:00Z to "
                                               "2026-01-02T10:00:00Z.</p>\n<h2>What changed"));
  for (std::size_t i = 4; i < 8; ++i) history.rows[i].commit = "";
  EXPECT_THAT(history_page(history), HasSubstr("8 rows of 1 commit on 2 machines"))
      << "of an unknown one nothing is told";
  EXPECT_THAT(history_page({}), HasSubstr("<p>0 rows of 0 commits on 0 machines.</p>"));
}

TEST(HistoryPage, RunsThatChangedAlikeAreOneRowOfTheTable) {
  const History history = two_days([](HistoryRow& row) {
    row.sent_bytes = 1200;
    if (row.run == "a-zb-v-w2") row.verdict = "does not hold";
  });

  EXPECT_THAT(bare(history_page(history)),
              HasSubstr("<tr><th>when</th><th>what</th><th>commits</th><th>sweep</th><th>runs</th><th>change</th></tr>"
                        "</thead><tbody>\n"
                        "<tr><td>2026-01-02T10:00:00Z</td><td>bytes</td><td>c00000..c00001</td><td>quick</td>"
                        "<td>a-1f1b-w1 and 2 more</td><td>sent 1,000 bytes before, 1,200 now (+200)</td></tr>\n"
                        "<tr><td>2026-01-02T10:00:00Z</td><td>verdict</td><td>c00000..c00001</td><td>quick</td>"
                        "<td>a-zb-v-w2</td><td>holds before, does not hold now</td></tr>\n</tbody>"));
}

TEST(HistoryPage, EachMachineAndSweepStandsOnceAboveItsRuns) {
  const std::string page = bare(history_page(two_days({})));

  EXPECT_THAT(section_of(page, "<h2>sweep", "</main>"),
              ::testing::MatchesRegex("<h2>sweep quick on Some Processor, 2 cores [(]machine aaaaaaaaaaaa[)]</h2>\n"
                                      "<details><summary>a-1f1b-w1: 2 points, holds</summary>\n<figure>.*"
                                      "<summary>a-1f1b-w2: 2 points.*<summary>a-zb-v-w2: 2 points.*"
                                      "<h2>bench quick on Another Processor, 8 cores [(]machine ffffffffffff[)]</h2>.*"
                                      "<summary>quick-1f1b-w2: 2 points.*"));
  EXPECT_EQ(page.find("<h2>sweep"), page.rfind("<h2>sweep"));
}

TEST(HistoryPage, PointsStandNewestFirstInTheirColumns) {
  History history = two_days([](HistoryRow& row) { row.bits = "0123456789abcdef"; });
  history.rows[4].speed = SpeedRatio{1.25, std::nullopt, std::nullopt, 1};
  history.rows[5].speed.reset();
  history.rows[5].sent_bytes.reset();
  history.rows[5].verdict = "finished";

  const std::string page = bare(history_page(history));

  const std::string heading =
      "<div><table><thead><tr><th>when</th><th>commit</th><th>verdict</th><th>tokens/s over the reference's</th>"
      "<th>rounds</th><th>state bytes</th><th>activation bytes</th><th>bytes "
      "sent</th><th>bits</th></tr></thead><tbody>\n";
  const std::string before =
      "<tr><td>2026-01-01T10:00:00Z</td><td>c00000</td><td>holds</td><td>1.600 [1.584, 1.616]</td><td>5</td>"
      "<td>3,000</td><td>2,000</td><td>1,000</td><td><code>dddd</code></td></tr>\n</tbody></table></div>\n";
  EXPECT_THAT(page, HasSubstr(heading +
                              "<tr><td>2026-01-02T10:00:00Z</td><td>c00001</td><td>holds</td><td>1.250</td><td>1</td>"
                              "<td>3,000</td><td>2,000</td><td>1,000</td><td><code>0123456789ab</code></td></tr>\n" +
                              before + "</details>"));
  EXPECT_THAT(page, HasSubstr("a-1f1b-w2: 2 points, finished</summary>"));
  EXPECT_THAT(page, HasSubstr(heading +
                              "<tr><td>2026-01-02T10:00:00Z</td><td>c00001</td><td>finished</td><td></td><td></td>"
                              "<td>3,000</td><td>2,000</td><td></td><td><code>0123456789ab</code></td></tr>\n" +
                              before));
}

TEST(HistoryPage, TheNewestSixtyPointsAreListed) {
  const std::string all = history_page({slower_after(60, 0), 0, {}});
  EXPECT_THAT(all, AllOf(HasSubstr(">c00000</td>"), Not(HasSubstr("The newest"))));

  const std::string most = history_page({slower_after(61, 0), 0, {}});
  EXPECT_THAT(most, AllOf(HasSubstr(">c00060</td>"), HasSubstr(">c00001</td>"), Not(HasSubstr(">c00000</td>")),
                          HasSubstr("The newest 60 of 61 points.")));
}

TEST(HistoryPage, WhereTheSpeedChangedThePictureIsSeenAtOnce) {
  const std::string changed = bare(history_page({slower_after(20, 10), 0, {}}));
  EXPECT_THAT(changed, HasSubstr("<h3>quick-1f1b-w2: 30 points, holds, speed changed</h3>\n<figure><svg>"));
  EXPECT_THAT(changed, HasSubstr("</figure>\n<details><summary>in numbers</summary><div><table>"));

  auto untimed = slower_after(20, 0);
  for (HistoryRow& row : untimed) row.speed.reset();
  EXPECT_THAT(bare(history_page({untimed, 0, {}})),
              HasSubstr("<details><summary>quick-1f1b-w2: 20 points, holds</summary>\n<div><table>"));
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

TEST(HistoryText, HasALineForEachRunBelowItsMachineAndOneForEachPoint) {
  History history = two_days([](HistoryRow& row) {
    row.activation_bytes = 1500;
    row.bits = "0123456789abcdef";
  });
  history.rows[6].activation_bytes = 2000;
  history.rows[5].speed = SpeedRatio{1.25, std::nullopt, std::nullopt, 1};
  history.rows[6].speed.reset();

  EXPECT_EQ(
      history_text(history, "", true),
      "8 rows, 2 commits, 2 machines\nchanges, newest first:\n"
      "  2026-01-02T10:00:00Z  bytes  quick: a-1f1b-w1 and 1 other: peak activations 2,000 bytes before, 1,500 now "
      "(-500); commits c00000..c00001\n"
      "  2026-01-02T10:00:00Z  bits  quick: a-1f1b-w1 and 2 others: other parameters at the end, on the same code "
      "path; commits c00000..c00001\n"
      "machine aaaaaaaaaaaa, Some Processor, 2 cores:\n"
      "  sweep quick, a-1f1b-w1: 2 points, holds, tokens/s over the reference's 1.600 [1.584, 1.616], 5 rounds\n"
      "    2026-01-01T10:00:00Z  c00000  holds  1.600 [1.584, 1.616], 5 rounds  dddd\n"
      "    2026-01-02T10:00:00Z  c00001  holds  1.600 [1.584, 1.616], 5 rounds  0123456789ab\n"
      "  sweep quick, a-1f1b-w2: 2 points, holds, tokens/s over the reference's 1.250\n"
      "    2026-01-01T10:00:00Z  c00000  holds  1.600 [1.584, 1.616], 5 rounds  dddd\n"
      "    2026-01-02T10:00:00Z  c00001  holds  1.250  0123456789ab\n"
      "  sweep quick, a-zb-v-w2: 2 points, holds, tokens/s over the reference's 1.600 [1.584, 1.616], 5 rounds\n"
      "    2026-01-01T10:00:00Z  c00000  holds  1.600 [1.584, 1.616], 5 rounds  dddd\n"
      "    2026-01-02T10:00:00Z  c00001  holds    0123456789ab\n"
      "machine ffffffffffff, Another Processor, 8 cores:\n"
      "  bench quick, quick-1f1b-w2: 2 points, holds, tokens/s over the reference's 1.600 [1.584, 1.616], 12 rounds\n"
      "    2026-01-01T10:00:00Z  c00000  holds  1.600 [1.584, 1.616], 12 rounds  dddd\n"
      "    2026-01-02T10:00:00Z  c00001  holds  1.600 [1.584, 1.616], 12 rounds  dddd\n");
}

TEST(HistoryText, ARunThatIsNamedHasItsOwnChangesAndPointsAlone) {
  History history = two_days([](HistoryRow& row) { row.verdict = row.run == "a-zb-v-w2" ? "does not hold" : "holds"; });
  for (HistoryRow& row : history.rows) row.commit = "";

  EXPECT_EQ(history_text(history, "zb-v"),
            "8 rows, 0 commits, 2 machines\nchanges, newest first:\n"
            "  2026-01-02T10:00:00Z  verdict  quick: a-zb-v-w2: holds before, does not hold now\n"
            "machine aaaaaaaaaaaa, Some Processor, 2 cores:\n"
            "  sweep quick, a-zb-v-w2: 2 points, does not hold, tokens/s over the reference's 1.600 [1.584, 1.616], 5 "
            "rounds\n");
  EXPECT_EQ(
      history_text(history, "1f1b-w1"),
      "8 rows, 0 commits, 2 machines\nno change was found\n"
      "machine aaaaaaaaaaaa, Some Processor, 2 cores:\n"
      "  sweep quick, a-1f1b-w1: 2 points, holds, tokens/s over the reference's 1.600 [1.584, 1.616], 5 rounds\n");
}

}  // namespace
}  // namespace plumbline::testing
