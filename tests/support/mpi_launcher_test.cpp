// SPDX-License-Identifier: BSD-3-Clause
#include "support/mpi_launcher.hpp"

#include <gmock/gmock.h>

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(MpiLauncherKind, IsReadFromItsVersionOutput) {
  EXPECT_EQ(mpi_launcher_of("mpirun (Open MPI) 4.1.4\n\nReport bugs to ...\n"), MpiLauncher::open_mpi_4);
  EXPECT_EQ(mpi_launcher_of("mpirun (Open MPI) 5.0.3\n\nReport bugs to ...\n"), MpiLauncher::open_mpi_5);
  EXPECT_EQ(mpi_launcher_of("HYDRA build details:\n    Version:   4.0.2\n"), MpiLauncher::mpich);
  EXPECT_EQ(mpi_launcher_of("Intel(R) MPI Library for Linux* OS, Version 2021.9\n"), MpiLauncher::mpich);
  EXPECT_EQ(mpi_launcher_of("slurm-wlm 22.05.8\n"), MpiLauncher::slurm);
  EXPECT_EQ(mpi_launcher_of("something else\n"), MpiLauncher::unknown);
  EXPECT_EQ(mpi_launcher_of(""), MpiLauncher::unknown);
}

TEST(MpiLauncherKind, EachKindHasItsFlags) {
  for (const auto kind : {MpiLauncher::open_mpi_4, MpiLauncher::open_mpi_5, MpiLauncher::mpich, MpiLauncher::slurm}) {
    EXPECT_THAT(launcher_command(kind, "start"), AllOf(StartsWith("start "), HasSubstr("-n {world}")));
  }
  EXPECT_THAT(launcher_command(MpiLauncher::open_mpi_4, "mpirun"), HasSubstr("--oversubscribe"));
  EXPECT_THAT(launcher_command(MpiLauncher::open_mpi_5, "mpirun"), Not(HasSubstr("vader")));
  EXPECT_THAT(launcher_command(MpiLauncher::mpich, "mpirun"), Not(HasSubstr("--mca")));
  EXPECT_EQ(launcher_command(MpiLauncher::unknown, "mpirun"), "");
}

TEST(MpiLauncherKind, OnlyRootGetsTheVariablesThatAllowRoot) {
  EXPECT_FALSE(launcher_environment("/tmp/x", false).contains("OMPI_ALLOW_RUN_AS_ROOT"));
  EXPECT_EQ(launcher_environment("/tmp/x", true).at("PRTE_ALLOW_RUN_AS_ROOT"), "1");
  EXPECT_EQ(launcher_environment("/tmp/x", true).at("OMPI_MCA_btl_sm_backing_directory"), "/tmp/x");
  EXPECT_THAT(launcher_environment("", false), ::testing::IsEmpty());
}

TEST(MpiLauncherKind, NamesThePackageThatContainsTheProgram) {
  EXPECT_THAT(how_to_install("mpirun"), HasSubstr("openmpi-bin"));
  EXPECT_THAT(how_to_install("srun"), Not(HasSubstr("openmpi-bin")));
}

}  // namespace
}  // namespace plumbline::testing
