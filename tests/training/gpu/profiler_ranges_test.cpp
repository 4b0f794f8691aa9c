// SPDX-License-Identifier: BSD-3-Clause
// Each action is a range on a profiler's timeline; ranges may overlap.
#include <gmock/gmock.h>

#include "tests/training/gpu/fake_gpus.hpp"
#include "training/gpu/gpu_log.hpp"

namespace plumbline {
namespace {

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
