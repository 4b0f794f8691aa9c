// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "support/files.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/training/gpu/fake_gpus.hpp"
#include "training/gpu/gpu_log.hpp"

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

}  // namespace
}  // namespace plumbline
