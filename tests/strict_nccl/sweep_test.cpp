// SPDX-License-Identifier: BSD-3-Clause
// A sweep over strict NCCL whose rank 1 omits its waits for events: the checks must find this in the first step and at
// the right place. The same sweep without the mistake must hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/files.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Swept {
  int code = -1;
  std::string results;  ///< results.csv
  std::string output;   ///< the pipeline's stderr
};

Swept sweep(const std::string& option, const std::string& keys = "world_sizes = [3]\nschedules = [\"1f1b\"]\n") {
  const testing::TemporaryFolder folder;
  const std::string bin = testing::bin_path();
  std::ofstream(folder / "sweep.toml") << "launcher = \"" + bin + "/plumbline-strict-nccl " + option +
                                              "--ranks {world}\"\nrun = [\"" + testing::fixtures_path() +
                                              "/runs/quick.toml\"]\n"
                                       << keys << "time_limit_s = 60\n";
  const std::string out = (folder / "out").string();
  const std::string command = bin + "/plumbline sweep " + (folder / "sweep.toml").string() + " --out " + out + " > " +
                              (folder / "output").string() + " 2>&1";
  Swept swept;
  swept.code = WEXITSTATUS(std::system(command.c_str()));
  swept.results = read_file(out + "/results.csv");
  const std::string file = out + "/launches/quick-1f1b-w3/stderr.txt";
  if (std::filesystem::exists(file)) swept.output = read_file(file);
  return swept;
}

TEST(StrictSweep, HoldsWithoutAMistake) {
  const Swept swept = sweep("");

  EXPECT_EQ(swept.code, 0) << swept.results << swept.output;
  EXPECT_THAT(swept.results, AllOf(HasSubstr(",boundaries,holds,"), HasSubstr(",memory,holds,")));
  EXPECT_THAT(swept.output, Not(HasSubstr("strict NCCL:")));
}

TEST(StrictSweep, HoldsWithReplicas) {
  const Swept swept = sweep("", "world_sizes = [1, 2, 3]\nreplicas = [2]\nschedules = [\"1f1b\", \"zb-v\"]\n");

  EXPECT_EQ(swept.code, 0) << swept.results;
  EXPECT_THAT(swept.results, HasSubstr("quick-zb-v-r2-w3"));
}

TEST(StrictSweep, FailsWithoutEventWaits) {
  const Swept swept = sweep("--without-event-waits ");

  EXPECT_EQ(swept.code, 1);
  EXPECT_THAT(swept.results,
              AllOf(HasSubstr(",completion,holds,"), HasSubstr(",boundaries,differs,"), HasSubstr(",memory,holds,")));
  EXPECT_THAT(swept.output, AllOf(HasSubstr("strict NCCL: rank 1's send of"), HasSubstr("no event orders the two")));
}

}  // namespace
}  // namespace plumbline
