// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/launcher_fault.hpp"

#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

LauncherSight sight() {
  LauncherSight sight;
  sight.launcher = "mpirun";
  sight.program = "plumbline-pipeline";
  sight.requested = 3;
  sight.processes = 3;
  sight.any_rank = true;
  sight.folder = "out/launches/a";
  return sight;
}

/// No process of the program was observed.
LauncherSight nothing_seen() {
  LauncherSight none = sight();
  none.any_rank = false;
  none.processes = 0;
  return none;
}

std::string fault(const LauncherSight& sight) {
  return launcher_fault(sight).value_or("none");
}

/// Complete output of Open MPI 4.1.4.
const char* const few_slots = R"(--------------------------------------------------------------------------
There are not enough slots available in the system to satisfy the 64
slots that were requested by the application:

  true

Either request fewer slots for your application, or make more slots
available for use.
--------------------------------------------------------------------------
)";

/// Open MPI 4.1.4 with a host file that names an unknown machine.
const char* const banner = R"(--------------------------------------------------------------------------
ORTE was unable to reliably start one or more daemons.
This usually is caused by:

* not finding the required libraries and/or binaries on
  one or more nodes.
--------------------------------------------------------------------------
)";

TEST(LauncherFault, SlotMessagesAreIgnoredOnceARankWasSeen) {
  LauncherSight well = sight();
  well.errors = few_slots;
  EXPECT_EQ(fault(well), "none");
}

TEST(LauncherFault, AWorkingLauncherIsNotBlamed) {
  LauncherSight well = sight();
  EXPECT_EQ(fault(well), "none");
  well.world_size = 3;
  EXPECT_EQ(fault(well), "none");
  well.exit_code = 1;
  EXPECT_EQ(fault(well), "none") << "a rank failed";
  well.timed_out = true;
  EXPECT_EQ(fault(well), "none") << "ranks hang";
}

TEST(LauncherFault, ATrainerThatDiesEarlyIsNotTheLaunchersFault) {
  LauncherSight quick = sight();
  quick.any_rank = false;
  quick.exit_code = 127;
  EXPECT_EQ(fault(quick), "none") << "its processes were seen";
  quick.processes = 0;
  for (const char* text : {"plumbline-pipeline: run.toml:3: no such model\n",
                           "/opt/bin/plumbline-pipeline: error while loading shared libraries: libmpi.so.40\n",
                           "mpirun detected that one or more processes exited with non-zero status\n",
                           "mpirun noticed that process rank 0 with PID 1 on node n exited on signal 11\n",
                           "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n",
                           "srun: error: n1: task 0: Exited with exit code 7\n"}) {
    quick.errors = text;
    EXPECT_EQ(fault(quick), "none") << text;
  }
}

TEST(LauncherFault, QuotesTheLauncherIfSlotsAreMissing) {
  LauncherSight full = nothing_seen();
  full.exit_code = 1;
  full.errors = few_slots;

  EXPECT_EQ(fault(full),
            "mpirun has too few slots for 3 ranks; it printed: There are not enough slots available in the system to "
            "satisfy the 64 slots that were requested by the application:. Add --map-by :OVERSUBSCRIBE to the key "
            "launcher of "
            "the sweep file, give it a host file with more slots, or request fewer ranks");
}

TEST(LauncherFault, OneProcessInsteadOfSeveral) {
  LauncherSight one = sight();
  one.processes = 1;
  one.world_size = 1;

  EXPECT_EQ(fault(one),
            "mpirun started one process of plumbline-pipeline, but 3 were requested; correct the key launcher of the "
            "sweep file");
}

TEST(LauncherFault, SeparateWorldsMeanAnotherMpi) {
  LauncherSight alone = sight();
  alone.world_size = 1;
  EXPECT_THAT(fault(alone), AllOf(HasSubstr("mpirun started 3 processes of plumbline-pipeline that do not form"),
                                  HasSubstr("world size 1 (3 were requested"), HasSubstr("another MPI")));

  alone.world_size.reset();
  alone.any_rank = false;
  alone.errors = "plumbline-pipeline: MPICH's mpirun started 3 processes, each alone in its MPI world: mend it\n----\n";
  EXPECT_EQ(fault(alone), "MPICH's mpirun started 3 processes, each alone in its MPI world: mend it")
      << "the trainer's own message";
}

TEST(LauncherFault, QuotesAnMpiThatRefusesTheLauncher) {
  LauncherSight refused = sight();
  refused.any_rank = false;
  refused.exit_code = 16;
  // MPICH 5.0.2 under the mpirun of Open MPI 5.0.11
  refused.errors = R"(Abort(203048208): Fatal error in internal_Init_thread: Internal MPI error!, error stack:
MPIR_pmi_init(225)..............:
check_MPIR_CVAR_PMI_VERSION(167):  Runtime environment uses unsupported PMI version PMIx. Aborting.
prterun detected that one or more processes exited with non-zero status,
)";
  EXPECT_THAT(fault(refused),
              AllOf(HasSubstr("failed under mpirun: Runtime environment uses unsupported PMI version PMIx. "),
                    HasSubstr("another MPI than the one that plumbline-pipeline was built with")));
}

TEST(LauncherFault, FewerOrMoreRanks) {
  LauncherSight other = sight();
  other.world_size = 2;
  EXPECT_THAT(fault(other), HasSubstr("mpirun started 2 ranks, but 3 were requested"));
  other.world_size = 4;
  EXPECT_THAT(fault(other), HasSubstr("mpirun started 4 ranks, but 3 were requested"));
}

TEST(LauncherFault, ExplainsHowTheLauncherEndedIfNothingStarted) {
  LauncherSight none = nothing_seen();
  EXPECT_THAT(fault(none), HasSubstr("started nothing and ended with code 0"));

  none.exit_code = 1;
  EXPECT_THAT(fault(none), AllOf(HasSubstr("ended with code 1 and started nothing"), HasSubstr("it printed nothing"),
                                 HasSubstr("Run the command in out/launches/a/command.txt by hand")));

  none.errors = banner;
  EXPECT_THAT(fault(none),
              AllOf(HasSubstr("it printed: ORTE was unable to reliably start one or more daemons. This usually"),
                    HasSubstr("on one or more nodes."), Not(HasSubstr("----"))));

  none.timed_out = true;
  EXPECT_THAT(fault(none), HasSubstr("started nothing within the time limit"));
}

TEST(LauncherFault, QuotesSlurmsMissingSlotsInOneLine) {
  LauncherSight full = sight();
  full.any_rank = false;
  full.requested = 1;
  const std::string words = "srun: error: Unable to create step for job 1: More processors requested than permitted";
  for (const char* behind : {"", "\n", "\n\nmore\n"}) {
    full.errors = words + behind;
    EXPECT_EQ(fault(full).find("mpirun has too few slots for one rank; it printed: " + words + ". Add"), 0U);
  }
}

TEST(LauncherFault, CutsOffALongBanner) {
  LauncherSight none = nothing_seen();
  none.exit_code = 1;
  none.errors = "\n \t\n" + std::string(400, 'x') + "\n";
  EXPECT_THAT(fault(none), HasSubstr("it printed: " + std::string(400, 'x') + ". Run"));
  none.errors = std::string(300, 'x') + "\n" + std::string(300, 'y') + "\nmore\n";
  EXPECT_THAT(fault(none),
              HasSubstr("it printed: " + std::string(300, 'x') + " " + std::string(99, 'y') + " .... Run"));
}

TEST(LauncherFault, AnOccupiedFolderIsNotTheLaunchersFault) {
  LauncherSight occupied = sight();
  occupied.errors = "plumbline-pipeline: out: is not empty, so it may hold another run; nothing was overwritten\n";
  occupied.processes = 1;
  EXPECT_EQ(fault(occupied), "none") << "a single process does not know of others";
  occupied.processes = 3;
  occupied.world_size = 3;
  EXPECT_EQ(fault(occupied), "none") << "the record has the requested world size";
}

}  // namespace
}  // namespace plumbline::testing
