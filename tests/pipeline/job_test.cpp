// SPDX-License-Identifier: BSD-3-Clause
// From the run file to a transport's settings.
#include "pipeline/job.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

NcclSettings settings_with(const std::string& more) {
  const testing::TemporaryFolder folder;
  return nccl_settings(
      load_run(folder.file("run.toml", "[model]\nconfig = \"" PLUMBLINE_FIXTURES
                                       "/models/stories260k/config.json\"\n[data]\ntext = \"" PLUMBLINE_FIXTURES
                                       "/corpus/\"\nlengths = [9]\n[train]\nsteps = 1\n" +
                                           more),
               {}));
}

TEST(NcclSettings, TakeMultiprocessorsFromTheRunFile) {
  EXPECT_EQ(settings_with("").max_ctas, 4);
  EXPECT_EQ(settings_with("[pipeline]\nmax_ctas = 7\n").max_ctas, 7);
}

TEST(NcclSettings, RunAheadUnlessTheRecordHasDigestsOfBoundaryTensors) {
  EXPECT_EQ(settings_with("[record]\nlevel = \"full\"\n").run_ahead, 0);
  EXPECT_EQ(settings_with("[record]\nlevel = \"summary\"\n").run_ahead, 2);
  EXPECT_EQ(settings_with("[record]\nlevel = \"none\"\n").run_ahead, 2);
}

}  // namespace
}  // namespace plumbline
