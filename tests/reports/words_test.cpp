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
  EXPECT_EQ(seconds_text(187), "3 min 07 s");
}

TEST(Words, EveryOutcomeHasASignOfItsOwn) {
  std::set<std::string> signs;
  for (const Outcome outcome :
       {Outcome::holds, Outcome::fails, Outcome::not_run, Outcome::not_applicable, Outcome::not_triggered}) {
    signs.insert(outcome_sign(outcome));
  }

  EXPECT_EQ(signs.size(), 5u);
}

TEST(Words, AnUnknownMicrobatchIsLeftOutOfThePlace) {
  FirstDivergence divergence;
  divergence.step = 2;
  divergence.item = "model.norm.weight";
  divergence.stage = 0;

  EXPECT_EQ(place_text(divergence), "step 2, stage 0, model.norm.weight");
  divergence.step = -1;
  EXPECT_EQ(place_text(divergence), "before the first step, stage 0, model.norm.weight");
}

}  // namespace
}  // namespace plumbline
