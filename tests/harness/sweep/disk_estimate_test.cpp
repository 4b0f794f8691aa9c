#include "harness/sweep/disk_estimate.hpp"

#include <gmock/gmock.h>

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// fixtures/models/stories260k over eight microbatches and two steps, with AdamW.
RunSize stories() {
  RunSize size;
  size.parameters = 260032;
  size.tokens = 600;
  size.microbatches = 8;
  size.steps = 2;
  size.states = 2;
  size.hidden = 64;
  size.layers = 5;
  return size;
}

TEST(DiskEstimate, GrowsWithWhatALevelWrites) {
  const auto bytes = [](const std::string& level) { return record_bytes(stories(), 4, 4, level); };

  EXPECT_LT(bytes("none"), bytes("summary"));
  EXPECT_LT(bytes("summary"), bytes("full"));
  EXPECT_LT(bytes("full") + 2 * 4 * 2 * stories().parameters, bytes("dump"));
  EXPECT_GT(record_bytes(stories(), 8, 8, "full"), bytes("full")) << "more ranks";
}

TEST(DiskEstimate, SaysWhatPassesAndWhereTheDiskIsTooSmall) {
  EXPECT_EQ(disk_text({70e6, 0}, "/"), "about 70 MB on disk");
  EXPECT_THAT(disk_text({7e6, 1.3e9}, "/"), HasSubstr("about 7.0 MB on disk, and 1.3 GB more until its audit is done"));
  EXPECT_THAT(disk_text({1e18, 0}, "/no/such/folder/yet"), HasSubstr("and / has only"));
  EXPECT_THAT(disk_text({1, 0}, "/"), Not(HasSubstr("has only")));
}

}  // namespace
}  // namespace plumbline::testing
