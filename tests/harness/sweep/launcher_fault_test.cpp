// SPDX-License-Identifier: BSD-3-Clause
// Launchers that fail: the machine's fault, which ends the sweep without a verdict on a case.
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class LauncherThat : public RunSweep {
 protected:
  /// $1 = -n, $2 the number of ranks, then the trainer and its arguments.
  std::string fault_of(const std::string& body) {
    program(folder_, "fake-mpirun", "n=$2; shift 2\n" + body + "\n");
    const auto message = error_of<SystemError>([&] { run(); });
    const auto verdict = read_verdict(folder_ / "out/verdict.json");
    EXPECT_FALSE(verdict.holds);
    EXPECT_THAT(verdict.cells, IsEmpty()) << "no verdict on a cell that was not run as asked";
    EXPECT_FALSE(fs::exists(folder_ / "out/launches/a-1f1b-w2/finding.json")) << "it is run again";
    return message;
  }
  LauncherThat() {
    sweep_file("run = [\"a.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
    // as the trainer does: the world it finds itself in
    behave(
        "[ $me = 0 ] && [ -n \"$WORLD\" ] && { mkdir -p $record; echo '{\"transport\": \"mpi\", \"world_size\": '"
        "$WORLD'}' > $record/manifest.new; mv $record/manifest.new $record/manifest.json; }\n"
        "[ -n \"$WORLD\" ] && { page $record $me 0 -1 ${me}F0; sleep 0.2; ended $record $me ok 0; exit 0; }\n");
  }
};

TEST_F(LauncherThat, StartsOneProcessWhereTwoWereAskedFor) {
  EXPECT_THAT(fault_of("WORLD=1 exec \"$@\""),
              AllOf(HasSubstr("started one process of plumbline-pipeline where 2 were asked for"),
                    HasSubstr("0 of 1 cases"), HasSubstr("continue with:\n  ")));
}

TEST_F(RunSweep, AMachineThatWasPutRightLetsASweepGoOnWhereItStopped) {
  program(folder_, "fake-mpirun", "[ -e ${0%/*}/slots ] || exit 1\n" + fake_mpirun());
  error_of<SystemError>([&] { run(); });
  folder_.file("slots", "");
  options_.resume = true;

  EXPECT_TRUE(run().verdict.holds);
}

}  // namespace
}  // namespace plumbline::testing
