// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/runnable.hpp"

#include <gmock/gmock.h>

#include "schedule/lowering.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/verifier.hpp"
#include "tests/schedule/late_receives.hpp"
#include "tests/schedule/schedules.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Runnable : public ::testing::Test {
 protected:
  ScheduleRequest request(const std::string& text, std::int32_t ranks, std::int32_t microbatches) const {
    ScheduleRequest made;
    made.schedule = folder_.file("mine.csv", text).string();
    made.ranks = ranks;
    made.microbatches = microbatches;
    return made;
  }
  template <typename Expected = InputError>
  std::string fault(const ScheduleRequest& requested) const {
    return message_of<Expected>([&] { make_runnable(requested); });
  }
  /// The error for a file for 2 ranks and 4 microbatches.
  std::string fault(const std::string& text) const { return fault(request(text, 2, 4)); }

  testing::TemporaryFolder folder_;
};

std::string csv(const char* name, std::int32_t ranks, std::int32_t microbatches) {
  return to_csv(make_schedule(name, ranks, microbatches, default_chunks(name)));
}

TEST_F(Runnable, MakesAndLowersANamedSchedule) {
  ScheduleRequest requested;
  requested.schedule = "zb-v";
  requested.ranks = 2;
  requested.microbatches = 4;
  requested.tied = true;

  const RunnableSchedule made = make_runnable(requested);

  EXPECT_EQ(made.compute.ranks, make_schedule("zb-v", 2, 4, 2).ranks);
  EXPECT_EQ(made.lowered.ranks, lower(made.compute, true).ranks);
  EXPECT_EQ(made.csv(), to_csv(made.compute));
  EXPECT_EQ(made.compute.name, "zb-v");
}

TEST_F(Runnable, OneChunkIsNotTheDefault) {
  ScheduleRequest requested;
  requested.schedule = "looped-bfs";
  requested.ranks = 2;
  requested.microbatches = 4;
  EXPECT_EQ(make_runnable(requested).compute.placement.chunks_per_rank, 2);
  requested.chunks = 1;
  EXPECT_EQ(make_runnable(requested).compute.placement.chunks_per_rank, 1);
}

TEST_F(Runnable, LowersAFileOfComputeActions) {
  for (const bool tied : {false, true}) {
    ScheduleRequest requested = request(csv("zb-v", 2, 4), 2, 4);
    requested.tied = tied;

    const RunnableSchedule made = make_runnable(requested);

    EXPECT_EQ(made.lowered.ranks, lower(make_schedule("zb-v", 2, 4, 2), tied).ranks);
    EXPECT_EQ(made.compute.name, "mine.csv") << "never one of our own names";
    EXPECT_FALSE(made.own_messages);
  }
}

TEST_F(Runnable, KeepsAFileWithMessages) {
  const Schedule late = with_late_receives(lower(make_schedule("interleaved-1f1b", 2, 4, 2), true));
  ScheduleRequest requested = request(to_csv(late), 2, 4);
  requested.tied = true;

  const RunnableSchedule made = make_runnable(requested);

  EXPECT_TRUE(made.own_messages);
  EXPECT_EQ(made.lowered.ranks, late.ranks);
  EXPECT_EQ(made.compute.ranks, make_schedule("interleaved-1f1b", 2, 4, 2).ranks);
  EXPECT_EQ(made.csv(), to_csv(late));
}

TEST_F(Runnable, AddsAMissingEnding) {
  const Schedule full = lower(make_schedule("1f1b", 2, 4), true);
  ScheduleRequest requested = request(export_for_torch(full), 2, 4);
  requested.tied = true;

  EXPECT_EQ(make_runnable(requested).lowered.ranks, full.ranks);
}

TEST_F(Runnable, RefusesAFileWithAnotherExtension) {
  ScheduleRequest requested;
  for (const char* name : {"mine.txt", "lists/mine"}) {
    requested.schedule = name;
    EXPECT_THAT(fault(requested), HasSubstr("must end in .csv"));
  }
}

TEST_F(Runnable, OwnMessagesAreRefusedOverNccl) {
  ScheduleRequest requested =
      request(to_csv(with_late_receives(lower(make_schedule("interleaved-1f1b", 2, 4, 2), false))), 2, 4);

  EXPECT_NO_THROW(make_runnable(requested));
  requested.transport = "nccl";
  EXPECT_THAT(fault(requested), AllOf(HasSubstr("may wait forever over NCCL"), HasSubstr("omit SEND and RECV")));
}

TEST_F(Runnable, OtherSizesNameWhatFits) {
  const std::string text = csv("zb-v", 2, 4);
  EXPECT_THAT(fault<OtherSizes>(request(text, 3, 4)),
              AllOf(HasSubstr("has rows for 2 ranks, the run has 3 ranks"), HasSubstr("a world size of 2")));
  EXPECT_THAT(fault<OtherSizes>(request(text, 1, 4)), HasSubstr("has rows for 2 ranks, the run has 1 rank"));
  EXPECT_THAT(fault<OtherSizes>(request(text, 2, 3)), HasSubstr("is for 4 microbatches, the run has 3"));
  EXPECT_THAT(fault(request(text, 0, 4)), HasSubstr("must be at least 1"));
  EXPECT_THAT(fault<OtherSizes>(request(text, 2, 6)),
              AllOf(HasSubstr("is for 4 microbatches, the run has 6"), HasSubstr("data.lengths 4 entries")));
  ScheduleRequest chunks = request(text, 2, 4);
  chunks.chunks = 1;
  EXPECT_THAT(fault<OtherSizes>(chunks), HasSubstr("has 2 chunks a rank, pipeline.chunks is 1"));
  chunks.chunks = 2;
  EXPECT_NO_THROW(make_runnable(chunks));
}

TEST_F(Runnable, RefusesBadFilesWithPlaceAndRemedy) {
  EXPECT_THAT(fault("0F0,0B0\n1F0,1B0x\n"), AllOf(HasSubstr("row 2, column 2"), HasSubstr("1B0x")));
  EXPECT_THAT(fault("0F0,0Q0\n1F0,1B0\n"), AllOf(HasSubstr("row 1, column 2"), HasSubstr("not an action")));
  EXPECT_THAT(fault("0F0,0F1,0F2,0F7,0B0,0B1,0B2,0B7\n1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3\n"),
              AllOf(HasSubstr("0F7"), HasSubstr("only the microbatches 0 to 3")));
  EXPECT_THAT(fault("0F0,0B0,1F0,1B0\n1F1,1B1\n"), AllOf(HasSubstr("rank 0"), HasSubstr("is on rank 1")));
  EXPECT_THAT(fault("0F0,0B0\n"), HasSubstr("the run has 2 ranks"));
  EXPECT_THAT(fault(""), HasSubstr("the file is empty"));
  EXPECT_THAT(fault("0F0,0F1,0B0,0B1\n1F0,1F1,1B0\n"), AllOf(HasSubstr("1B1"), HasSubstr("missing from the list")));
  EXPECT_THAT(
      fault("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"),
      AllOf(HasSubstr("in a cycle: 0B0 (rank 0, position 1) needs 1B0"), HasSubstr("1F1 (rank 1, position 1)")));
}

TEST_F(Runnable, ReportsSeveralFindings) {
  EXPECT_THAT(fault("0F0,0B0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1,1B1\n"),
              AllOf(HasSubstr("rank 0, position 2, 0B0"), HasSubstr("; rank 1, position 4, 1B1")));
  EXPECT_THAT(fault("0F0,0F0,0F0,0F0,0B0\n1F0,1B0\n"),
              AllOf(HasSubstr("; and "), HasSubstr("plumbline schedule check")));
  EXPECT_THAT(fault("0F0,0F1,0B0,0B1\n1F0,1F1,1B0\n"), Not(HasSubstr("\n")));
}

TEST_F(Runnable, ChecksTheEndingForTheModel) {
  ScheduleRequest requested = request(to_csv(lower(make_schedule("1f1b", 2, 4), true)), 2, 4);

  requested.tied = false;

  EXPECT_THAT(fault(requested), HasSubstr("0REDUCE"));
}

TEST_F(Runnable, ReadsARecordsSchedule) {
  const Schedule late = with_late_receives(lower(make_schedule("zb-v", 2, 4, 2), true));
  for (const Schedule& written : {late, make_schedule("zb-v", 2, 4, 2)}) {
    const RunnableSchedule back =
        runnable_from_record(folder_.file("schedule.csv", to_csv(written)).string(), "mine.csv", 2, true);

    EXPECT_EQ(back.csv(), to_csv(written));
    EXPECT_EQ(back.compute.ranks, make_schedule("zb-v", 2, 4, 2).ranks);
    EXPECT_EQ(back.lowered.ranks, back.own_messages ? late.ranks : lower(back.compute, true).ranks);
  }
  const std::string path = folder_.file("schedule.csv", "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0\n").string();
  EXPECT_THAT(message_of<InputError>([&] { runnable_from_record(path, "mine.csv", 1, false); }), HasSubstr("SEND_B0"));
}

}  // namespace
}  // namespace plumbline
