// Each action is a range on a profiler's time line, from its begin to its end, also where they overlap.
#include <gmock/gmock.h>

#include "tests/temporary_folder.hpp"
#include "tests/training/gpu/fake_gpus.hpp"
#include "training/action_log.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;

TEST(GpuRanges, NameTheActionAndEndOnce) {
  testing::FakeGpus gpus;
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, /*with_saved=*/false);
  ActionLog log(writer, 0, &gpus);

  const auto receive = log.begin("1RECV_F3", 1, 3);
  const auto forward = log.begin("1F2", 1, 2);
  log.end(receive);
  log.end(forward);
  log.end(receive);
  log.end_step(0);
  log.end(log.begin("1F0", 1, 0));

  EXPECT_THAT(gpus.ranges, ElementsAre("1RECV_F3", "1F2", "1F0"));
  EXPECT_THAT(gpus.ended, ElementsAre(1, 2, 3));
}

TEST(GpuRanges, NothingHappensWithoutAGpu) {
  const testing::TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, /*with_saved=*/false);
  ActionLog log(writer, 0);

  EXPECT_NO_THROW(log.end(log.begin("0F0", 0, 0)));
}

}  // namespace
}  // namespace plumbline
