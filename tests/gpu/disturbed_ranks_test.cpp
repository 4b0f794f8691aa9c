// SPDX-License-Identifier: BSD-3-Clause
// A rank that hangs, is slow or is killed, over NCCL with one GPU per rank: reported as over MPI (tests/programs).
#include "tests/disturbed_ranks.hpp"

#include "tests/gpu/assigned_gpus.hpp"
#include "tests/paths.hpp"

namespace plumbline::testing {
namespace {

const std::string launcher = PLUMBLINE_MPI_LAUNCHER " -n 2";
const std::string program = bin_path() + "/plumbline-pipeline";
const std::string over_nccl = "--device cuda --transport nccl";

class DisturbedNccl : public DisturbedRanks {
 protected:
  void SetUp() override {
    const std::string why = why_not_on_gpus(2);
    if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
  }
};

TEST_F(DisturbedNccl, AHangIsNamed) {
  expect_a_hang_to_be_named(launcher, program, over_nccl);
}

TEST_F(DisturbedNccl, AKilledRankIsNamed) {
  expect_a_killed_rank_to_be_named(launcher, program, over_nccl);
}

TEST_F(DisturbedNccl, AStragglerIsWaitedFor) {
  expect_a_straggler_to_be_waited_for(launcher, program, over_nccl);
}

}  // namespace
}  // namespace plumbline::testing
