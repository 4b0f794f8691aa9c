// SPDX-License-Identifier: BSD-3-Clause
// A rank that hangs, is slow or is killed, over MPI; over NCCL in tests/gpu/disturbed_ranks_test.cpp.
#include "tests/disturbed_ranks.hpp"

#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"

namespace plumbline::testing {
namespace {

const std::string launcher = PLUMBLINE_MPI_LAUNCHER " -n 2";
const std::string program = bin() + "/plumbline-pipeline";

class DisturbedMpi : public DisturbedRanks {};

TEST_F(DisturbedMpi, AHangIsNamed) {
  expect_a_hang_to_be_named(launcher, program, "--transport mpi");
  EXPECT_THAT(output(), ::testing::ContainsRegex("rank 0 waits for .*rank 1.*, 10[.]0 s: this exceeds the time limit"))
      << "the run file's time limit, not our own";
}

TEST_F(DisturbedMpi, AKilledRankIsNamed) {
  expect_a_killed_rank_to_be_named(launcher, program, "--transport mpi");
}

TEST_F(DisturbedMpi, AStragglerIsWaitedFor) {
  expect_a_straggler_to_be_waited_for(launcher, program, "--transport mpi");
}

class DisturbedThreads : public DisturbedRanks {};

// The whole process is stopped. No deadline passes meanwhile, since no rank was able to meet it.
TEST_F(DisturbedThreads, StoppingTheProcessUsesUpNoDeadline) {
  run("", program, "--transport threads --ranks 2", 100, 2000,
      [](pid_t pid, std::chrono::milliseconds since) { kill(pid, since.count() < 5000 ? SIGSTOP : SIGCONT); });

  EXPECT_EQ(finding_.exit_code, 0) << finding_.words << output();
  EXPECT_GE(finding_.seconds, 5) << "the process was stopped";
}

// Like ranks on two machines with separate clocks: rank 1's clock is 1000 s ahead.
TEST(ClocksOfTwoMachines, AreAlignedBeforeTheFirstStep) {
  if (std::system("unshare --time --fork --monotonic 1000 true 2>/dev/null") != 0) {
    GTEST_SKIP() << "this user may not make time namespaces";
  }
  const TemporaryFolder folder;
  const std::string command = program + " " + fixtures_path() + "/runs/quick.toml --quiet --transport mpi --record " +
                              (folder.path() / "record").string();

  const std::string ahead = "unshare --time --fork --monotonic 1000 " + command;
  const Ended ended = end_of(launcher + " " + with_another_rank_1(command, ahead), folder.path());

  ASSERT_EQ(ended.code, 0) << ended.output;
  const Record record = read_record(folder.path() / "record");
  const double skew_ns = record.manifest.json.at("clock_skew_ns").get<double>();
  EXPECT_GT(skew_ns, 0);
  EXPECT_LT(skew_ns, 1e9);
  const std::int64_t apart_ns = record.ranks[1].actions.front().start_ns - record.ranks[0].actions.front().start_ns;
  EXPECT_LT(std::abs(apart_ns), 10'000'000'000) << "of 1000 s";
}

}  // namespace
}  // namespace plumbline::testing
