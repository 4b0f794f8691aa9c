// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/own_messages.hpp"

#include <gmock/gmock.h>

#include "schedule/csv_import.hpp"
#include "schedule/lowering.hpp"
#include "schedule/runnable.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/verifier.hpp"
#include "support/error.hpp"
#include "tests/paths.hpp"
#include "tests/schedule/late_receives.hpp"
#include "tests/schedule/schedules.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

const std::string hangs = testing::fixtures_path() + "/schedules/passes_the_verifier_hangs_on_nccl.csv";

ScheduleRequest request(const std::string& path, std::int32_t microbatches, bool tied) {
  ScheduleRequest requested;
  requested.schedule = path;
  requested.ranks = 2;
  requested.microbatches = microbatches;
  requested.tied = tied;
  return requested;
}

TEST(OwnMessages, LoweredListsHaveNoFinding) {
  for_each_generated([&](const Schedule& schedule) {
    if (schedule.microbatches > 5) return;
    EXPECT_FALSE(find_own_messages(lower(schedule, true), true, "nccl")) << schedule.name;
  });
}

TEST(OwnMessages, FindsAnotherOrderOverNcclAlone) {
  const Schedule late = with_late_receives(lower(make_schedule("1f1b", 2, 4), false));
  ASSERT_TRUE(verify(late, {.tied = false}).empty());

  EXPECT_TRUE(find_own_messages(late, false, "nccl"));
  for (const char* transport : {"mpi", "threads"}) EXPECT_FALSE(find_own_messages(late, false, transport)) << transport;
}

// The verifier alone accepts it, but over NCCL its first rank would wait forever.
TEST(OwnMessages, RefusesAListThatHangsOnlyOverNccl) {
  const ImportedSchedule imported = import_schedule(hangs);
  ASSERT_TRUE(verify(imported.schedule).empty());

  EXPECT_TRUE(check_imported(imported, "mpi").empty());
  const auto findings = check_imported(imported, "nccl");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(to_text(findings.front()),
              AllOf(HasSubstr("rank 0, position "), HasSubstr("may wait forever over NCCL")));
  for (const bool tied : {false, true}) {
    ScheduleRequest requested = request(hangs, 3, tied);
    EXPECT_TRUE(make_runnable(requested).own_messages);
    requested.transport = "nccl";
    EXPECT_THAT(error_of<InputError>([&] { make_runnable(requested); }),
                AllOf(HasSubstr(hangs), HasSubstr("may wait forever over NCCL"), HasSubstr("omit SEND and RECV")));
  }
}

TEST(OwnMessages, AcceptsLoweredMessages) {
  const testing::TemporaryFolder folder;
  const Schedule lowered = lower(make_schedule("zb-v", 2, 4, 2), true);
  for (const std::string& text : {to_csv(lowered), export_for_torch(lowered)}) {  // with its ending, and without
    const std::string path = folder.file("mine.csv", text).string();

    ScheduleRequest requested = request(path, 4, true);
    requested.transport = "nccl";

    EXPECT_TRUE(make_runnable(requested).own_messages);
    EXPECT_TRUE(check_imported(import_schedule(path), "nccl").empty() || text != to_csv(lowered));
  }
}

}  // namespace
}  // namespace plumbline
