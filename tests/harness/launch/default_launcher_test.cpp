// SPDX-License-Identifier: BSD-3-Clause
// The launcher is searched once per process, so each test case uses its own process.
#include "harness/launch/default_launcher.hpp"

#include <unistd.h>

#include <iostream>
#include <map>

#include "support/error.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

struct LauncherCase {
  std::string name;
  std::map<std::string, std::string> programs;  ///< programs on PATH and what each does
  bool in_slurm_job = false;
  std::string expected;
};

void PrintTo(const LauncherCase& one, std::ostream* out) {
  *out << one.name;
}

/// Prints on stderr what it found, between brackets.
[[noreturn]] void print_default_launcher(const LauncherCase& one) {
  {
    const TemporaryFolder programs;
    for (const auto& [name, body] : one.programs) program(programs, name, body);
    const EnvironmentVariable path("PATH", programs.path().c_str());
    const EnvironmentVariable job("SLURM_JOB_ID", one.in_slurm_job ? "7" : nullptr);
    try {
      std::cerr << "[" << default_launcher() << "]" << std::endl;
    } catch (const SystemError& error) {
      std::cerr << "[" << error.what() << "]" << std::endl;
    }
  }
  _exit(0);
}

class DefaultLauncher : public ::testing::TestWithParam<LauncherCase> {};

TEST_P(DefaultLauncher, IsTheFirstKnownOneWithItsFlags) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(print_default_launcher(GetParam()), ::testing::ExitedWithCode(0),
              HasSubstr("[" + GetParam().expected + "]"));
}

const char* const open_mpi_4 =
    "mpirun --oversubscribe --bind-to none --mca btl self,vader --mca pml ob1 --mca osc ^ucx -n {world}";

INSTANTIATE_TEST_SUITE_P(
    Machines, DefaultLauncher,
    ::testing::Values(
        LauncherCase{"Nothing", {}, false, open_mpi_4},
        LauncherCase{"OpenMpi4", {{"mpirun", "echo 'mpirun (Open MPI) 4.1.4'"}}, false, open_mpi_4},
        LauncherCase{
            "OpenMpi5",
            {{"mpirun", "echo 'mpirun (Open MPI) 5.0.3'"}, {"mpiexec", "echo HYDRA"}},
            false,
            "mpirun --map-by :OVERSUBSCRIBE --bind-to none --mca btl self,sm --mca pml ob1 --mca osc ^ucx -n {world}"},
        LauncherCase{"ItsVersionOnStderr", {{"mpirun", "echo HYDRA >&2"}}, false, "mpirun -bind-to none -n {world}"},
        LauncherCase{"OnlyMpiexec", {{"mpiexec", "echo HYDRA"}}, false, "mpiexec -bind-to none -n {world}"},
        LauncherCase{"AnUnknownMpirunBesideMpiexec",
                     {{"mpirun", "echo something else"}, {"mpiexec", "echo HYDRA"}},
                     false,
                     "mpiexec -bind-to none -n {world}"},
        LauncherCase{
            "SlurmInAJob", {{"srun", "echo slurm-wlm 22.05.8"}}, true, "srun --overcommit --cpu-bind=none -n {world}"},
        LauncherCase{"CtrlCWhileItIsAsked",
                     {{"mpirun", "kill -INT $PPID; while :; do :; done"}, {"mpiexec", "echo HYDRA"}},
                     false,
                     "stopped by SIGINT before anything started"},
        // srun would wait for a job.
        LauncherCase{"SlurmOutsideOfAJob", {{"srun", "echo slurm-wlm 22.05.8"}}, false, open_mpi_4}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace plumbline::testing
