// SPDX-License-Identifier: BSD-3-Clause
#include "reports/words.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

namespace plumbline {
namespace {

TEST(Words, NumbersAreGroupedByThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Words, SecondsPastAMinuteAreMinutes) {
  EXPECT_EQ(seconds_text(0.314), "0.31 s");
  EXPECT_EQ(seconds_text(59.94), "59.9 s");
  EXPECT_EQ(seconds_text(60), "1 min 00 s");
  EXPECT_EQ(seconds_text(75), "1 min 15 s");
  EXPECT_EQ(seconds_text(187), "3 min 07 s");
}

TEST(Words, OneOfAKindIsSingular) {
  EXPECT_EQ(counts_text({{"ranks", 1}, {"step_losses", 1}, {"tied_copies", 1}, {"distinct_microbatches", 1}}),
            "1\u00A0distinct microbatch, 1\u00A0rank, 1\u00A0step loss, 1\u00A0tied copy");
  EXPECT_EQ(counts_text({{"private_memory", 1}, {"ranks", 2}}), "1\u00A0private memory, 2\u00A0ranks");
}

TEST(Words, NounsAgreeWithTheirCounts) {
  EXPECT_EQ(count_text(1, "case"), "1 case");
  EXPECT_EQ(count_text(1234, "case"), "1,234 cases");
  EXPECT_EQ(count_text(2, "loss") + count_text(0, "copy") + count_text(3, "key") + count_text(4, "microbatch"),
            "2 losses0 copies3 keys4 microbatches");
}

TEST(Words, EveryOutcomeHasItsOwnSymbol) {
  std::set<std::string> signs;
  for (const Outcome outcome : {Outcome::holds, Outcome::differs, Outcome::incomplete, Outcome::does_not_apply}) {
    signs.insert(outcome_sign(outcome));
  }

  EXPECT_EQ(signs.size(), 4u);
}

TEST(Words, TitlesAndLabelsDistinguishCases) {
  CellVerdict cell;
  cell.model = "tiny";
  cell.optimizer = "sgd";
  cell.schedule = "1f1b";
  cell.world = 2;
  cell.run = "tiny-sgd";
  EXPECT_EQ(cell_title(cell), "tiny, sgd, 1f1b, P = 2");
  CellVerdict unnamed;
  unnamed.run = unnamed.model = "mine";
  unnamed.world = 2;
  EXPECT_EQ(cell_title(unnamed), "mine, P = 2");
  EXPECT_EQ(run_label(unnamed), "P = 2");
  EXPECT_EQ(run_label(cell), "1f1b, P = 2");
  cell.balance = {2, 0};
  cell.variant = "resumed";
  cell.run = "other";
  EXPECT_EQ(cell_title(cell), "tiny, sgd, 1f1b, P = 2, balance [2, 0], resumed, run other");
  EXPECT_EQ(run_label(cell), "1f1b, P = 2, [2, 0], resumed");
  EXPECT_EQ(schedule_label(cell), "1f1b, [2, 0], resumed");
}

}  // namespace
}  // namespace plumbline
