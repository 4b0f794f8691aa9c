// SPDX-License-Identifier: BSD-3-Clause
#include "training/gpu/gpu_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/files.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/training/gpu/fake_gpus.hpp"

namespace plumbline {
namespace {

TEST(GpuMemoryLog, WritesOneRowPerStep) {
  testing::FakeGpus gpus;
  gpus.memory = {300, 1000};
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  GpuMemoryLog log(writer, &gpus, 0, GpuProcess::one_rank);

  log.step_began();
  log.step_ended(0);
  gpus.memory.free_bytes = 250;
  log.step_began();
  log.step_ended(1);
  writer.flush();

  EXPECT_EQ(read_file(writer.folder() / "gpu_memory.csv"),
            "step,requested_peak_bytes,reserved_peak_bytes,reserved_bytes,free_bytes,total_bytes\n"
            "0,1,3,2,300,1000\n1,1,3,2,250,1000\n");
  EXPECT_EQ(gpus.resets, 2);
  EXPECT_EQ(log.uuid(), "GPU-0");
}

TEST(GpuMemoryLog, DoesNotResetSharedPeaks) {
  testing::FakeGpus gpus;
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  GpuMemoryLog log(writer, &gpus, 0, GpuProcess::several_ranks);

  log.step_began();
  log.step_ended(0);

  EXPECT_EQ(gpus.resets, 0);
}

TEST(GpuMemoryLog, WritesNothingWithoutAGpu) {
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  GpuMemoryLog log(writer, nullptr, 0, GpuProcess::one_rank);

  log.step_began();
  log.step_ended(0);

  EXPECT_FALSE(std::filesystem::exists(writer.folder() / "gpu_memory.csv"));
  EXPECT_EQ(log.uuid(), "");
}

using ::testing::ElementsAre;

TEST(ProfilerRanges, NameTheActionAndEndOnce) {
  testing::FakeGpus gpus;
  ProfilerRanges ranges(&gpus);
  const StepAction receive{0, 0, "1RECV_F3", 1, 3, false};
  const StepAction forward{0, 1, "1F2", 1, 2, true};
  const StepAction next_step{1, 0, "1F0", 1, 0, true};

  ranges.began(receive);
  ranges.began(forward);
  ranges.ended(receive);
  ranges.ended(forward);
  ranges.ended(receive);
  ranges.began(next_step);
  ranges.ended(next_step);

  EXPECT_THAT(gpus.ranges, ElementsAre("1RECV_F3", "1F2", "1F0"));
  EXPECT_THAT(gpus.ended, ElementsAre(1, 2, 3));
}

TEST(ProfilerRanges, NothingHappensWithoutAGpu) {
  ProfilerRanges ranges(nullptr);
  const StepAction forward{0, 0, "0F0", 0, 0, true};

  ranges.began(forward);
  EXPECT_NO_THROW(ranges.ended(forward));
}

}  // namespace
}  // namespace plumbline
