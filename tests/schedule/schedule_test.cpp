#include "schedule/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/verifier.hpp"
#include "support/error.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using testing::HasSubstr;

TEST(MakeSchedule, OneFOneBOfThreeRanksWrittenOut) {
  const Schedule schedule = make_schedule("1f1b", 3, 4);

  EXPECT_EQ(texts(schedule.ranks.at(0)), "0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3");
  EXPECT_EQ(texts(schedule.ranks.at(1)), "1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3");
  EXPECT_EQ(texts(schedule.ranks.at(2)), "2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3");
}

TEST(MakeSchedule, OneFOneBWithFewerMicrobatchesThanRanks) {
  const Schedule schedule = make_schedule("1f1b", 4, 2);

  EXPECT_EQ(texts(schedule.ranks.at(0)), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(texts(schedule.ranks.at(1)), "1F0 1F1 1B0 1B1");
  EXPECT_EQ(texts(schedule.ranks.at(2)), "2F0 2F1 2B0 2B1");
  EXPECT_EQ(texts(schedule.ranks.at(3)), "3F0 3B0 3F1 3B1");
}

TEST(MakeSchedule, AfabWrittenOut) {
  const Schedule schedule = make_schedule("afab", 2, 2);

  EXPECT_EQ(texts(schedule.ranks.at(0)), "0F0 0F1 0B0 0B1");
  EXPECT_EQ(texts(schedule.ranks.at(1)), "1F0 1F1 1B0 1B1");
}

TEST(MakeSchedule, EveryNameIsMadeForEverySize) {
  for_each_schedule([](const Schedule& schedule) {
    EXPECT_EQ(schedule.ranks.size(), static_cast<std::size_t>(schedule.placement.ranks));
    EXPECT_NO_THROW(verify_complete(schedule));
    for (const ActionList& list : schedule.ranks)
      EXPECT_EQ(microbatches_of(list, ActionType::backward), ascending(schedule));
  });
}

TEST(MakeSchedule, PeakSlotsAreTheTablesClosedForm) {
  for_each_schedule([](const Schedule& schedule) {
    for (std::int32_t rank = 0; rank < schedule.placement.ranks; ++rank) {
      const std::int32_t m = schedule.microbatches;
      const std::int32_t expected = schedule.name == "afab" ? m : std::min(m, schedule.placement.ranks - rank);
      EXPECT_EQ(peak_slots(schedule.ranks[static_cast<std::size_t>(rank)]), expected) << "rank " << rank;
    }
  });
}

TEST(MakeSchedule, SaysWhatWouldFit) {
  EXPECT_THAT(message_of<InputError>([] { make_schedule("gpipe", 2, 4); }), HasSubstr("choose afab or 1f1b"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("1f1b", 0, 4); }), HasSubstr("at least 1"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("1f1b", 2, 0); }), HasSubstr("at least 1 microbatch"));
  EXPECT_THAT(message_of<InputError>([] { make_schedule("afab", 2, 4, 2); }), HasSubstr("set chunks = 1"));
}

TEST(Placement, LoopGoesRoundTheRanks) {
  const Placement placement{3, 2};

  EXPECT_EQ(placement.stages_on(1), (std::vector<std::int32_t>{1, 4}));
  for (const std::int32_t stage : placement.stages_on(1)) EXPECT_EQ(placement.rank_of(stage), 1);
}

}  // namespace
}  // namespace plumbline
