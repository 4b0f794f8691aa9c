// A rank that hangs, dawdles or is killed, over MPI; over NCCL in tests/gpu/disturbed_ranks_test.cpp.
#include "tests/disturbed_ranks.hpp"

namespace plumbline::testing {
namespace {

const std::string launcher = PLUMBLINE_MPI_LAUNCHER " -n 2";
const std::string program = PLUMBLINE_BIN "/plumbline-pipeline";

class DisturbedMpi : public DisturbedRanks {};

TEST_F(DisturbedMpi, AHangIsNamed) {
  expect_a_hang_to_be_named(launcher, program, "--transport mpi");
}

TEST_F(DisturbedMpi, AKilledRankIsNamed) {
  expect_a_killed_rank_to_be_named(launcher, program, "--transport mpi");
}

TEST_F(DisturbedMpi, AStragglerIsWaitedFor) {
  expect_a_straggler_to_be_waited_for(launcher, program, "--transport mpi");
}

}  // namespace
}  // namespace plumbline::testing
