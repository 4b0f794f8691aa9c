// SPDX-License-Identifier: BSD-3-Clause
// Ranks that die, hang, exit or are slow at every place of a run, over MPI, started and watched as in a sweep. The
// launch must end, leave no process, and name the rank and its action. With PLUMBLINE_SUPERVISION_CSV=FILE each trial
// adds a row to that file.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/launch/launcher.hpp"
#include "harness/launch/process_tree.hpp"
#include "record/progress_page.hpp"
#include "record/rank_folder.hpp"
#include "support/csv.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// Short for the wait that must end by it, or must not; other waits get more time for a busy machine.
constexpr std::int64_t short_ms = 3000, long_ms = 50'000;

struct Trial {
  std::string way, place;
  std::int64_t world = 2, rank = 0;

  std::string name() const {
    return way + "_" + place + "_rank" + std::to_string(rank) + "_of" + std::to_string(world);
  }
  bool goes_on() const { return way == "slow" || way == "paused"; }
  bool hangs() const { return way == "stopped" || way == "hangs" || way == "spins"; }
  std::int64_t start_timeout_ms() const { return hangs() && place == "start" ? short_ms : long_ms; }
  std::int64_t timeout_ms() const { return hangs() || goes_on() ? short_ms : long_ms; }
  /// The fault's name in tests/mutant. A paused rank stops itself, and another process continues it.
  std::string fault() const {
    return "H4-" + (way == "paused" ? "stopped" : way) + "-" + place + "@rank=" + std::to_string(rank) + ",step=1";
  }
};

void PrintTo(const Trial& trial, std::ostream* out) {
  *out << trial.name();
}

/// The rank's action at that place of step 1, under 1F1B with one stage a rank.
std::string action_of(const Trial& trial) {
  const std::string stage = std::to_string(trial.rank);
  if (trial.place == "start") return "before its first action";
  if (trial.place == "forward") return stage + "F0 of step 1";
  if (trial.place == "backward") return stage + "B0 of step 1";
  if (trial.place == "receive") return stage + (trial.rank == 0 ? "RECV_B0" : "RECV_F0") + " of step 1";
  return stage + "STEP of step 1";
}

std::string expected_text(const Trial& trial) {
  if (trial.way == "killed") return "was killed by signal 9 (SIGKILL)";
  if (trial.way == "stopped") return "was stopped (SIGSTOP)";
  if (trial.way == "throws") return "ended with an error (exit code 1)";
  if (trial.way == "leaves") return "ended without writing exit.json";
  return trial.place == "receive" ? "hangs: it stopped polling for what it awaits" : "made no progress";
}

/// The same in MPI_Finalize, when the record is complete.
std::string expected_text_after_the_run(const Trial& trial) {
  if (trial.way == "killed") return " was killed by signal 9 (SIGKILL) then";
  if (trial.way == "stopped") return " was stopped (SIGSTOP) then";
  return trial.way == "leaves" ? "'s process ended unexpectedly" : "'s process did not end";
}

struct Outcome {
  LaunchFinding finding;
  std::optional<double> seconds;  ///< from the disturbance until the last process ended
  std::string output;
};

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Calls `disturb` every 20 ms with the process ids of the observed ranks.
Outcome run(const Trial& trial, const std::string& fault, std::int64_t steps, std::chrono::seconds time_limit,
            const fs::path& folder, const std::function<void(const std::set<pid_t>&)>& disturb) {
  const std::int64_t world = trial.world;
  const fs::path run_file = folder / "run.toml";
  std::ofstream(run_file) << "[model]\nconfig = \"" + testing::fixtures_path() + "/models/stories260k/config.json\"\n"
                          << "[data]\ntext = \"" + testing::fixtures_path() +
                                 "/corpus/\"\nlengths = [16, 9, 24, 12]\nbatch = 2\n"
                          << "[train]\nsteps = " << steps << "\n[record]\nlevel = \"summary\"\n"
                          << "[pipeline]\nschedule = \"1f1b\"\ntimeout_ms = " << trial.timeout_ms()
                          << "\nstart_timeout_ms = " << trial.start_timeout_ms() << "\n";
  Launch launch;
  launch.command = {"mpirun",
                    "--map-by",
                    ":OVERSUBSCRIBE",
                    "-n",
                    std::to_string(world),
                    testing::bin_path() + "/plumbline-mutant",
                    "--fault",
                    fault,
                    run_file.string(),
                    "--quiet",
                    "--record",
                    (folder / "record").string(),
                    "--transport",
                    "mpi"};
  launch.folder = folder / "launch";
  fs::create_directories(launch.folder);
  launch.record = folder / "record";
  launch.ranks = world;
  launch.speaker = "plumbline-pipeline";
  launch.time_limit = time_limit;
  std::set<pid_t> pids;
  launch.at_glance = [&] {
    for (std::int64_t rank = 0; rank < world; ++rank)
      if (const auto page = read_progress(launch.record / rank_folder(rank) / "progress")) pids.insert(page->pid);
    disturb(pids);
  };
  StopSignals signals;
  Outcome outcome;
  outcome.finding = plumbline::launch(launch, signals);
  const double end = monotonic_seconds();
  outcome.output = read_file(launch.folder / "stdout.txt") + read_file(launch.folder / "stderr.txt");
  if (const auto at = outcome.output.find("disturbed at "); at != std::string::npos)
    outcome.seconds = end - std::strtod(outcome.output.c_str() + at + 13, nullptr);
  for (const pid_t pid : pids) EXPECT_TRUE(kill(pid, 0) != 0 && errno == ESRCH) << "process " << pid << " was left";
  return outcome;
}

/// Adds the trial's row, once it is known whether it went as expected.
class Row {
 public:
  Row(const Trial& trial, const Outcome& outcome) : trial_(trial), outcome_(outcome) {}
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row() {
    const char* name = std::getenv("PLUMBLINE_SUPERVISION_CSV");
    if (name == nullptr) return;
    const std::string head = "way,place,world,rank,culprit,exit_code,seconds,words,right\n";
    std::ofstream file(name, std::ios::app);
    if (file.tellp() == 0) file << head;
    const auto& finding = outcome_.finding;
    file << csv_line({trial_.way, trial_.place, std::to_string(trial_.world), std::to_string(trial_.rank),
                      finding.culprit_rank ? std::to_string(*finding.culprit_rank) : "",
                      std::to_string(finding.exit_code), to_text(outcome_.seconds.value_or(0)), finding.words,
                      ::testing::Test::HasFailure() ? "false" : "true"});
  }

 private:
  const Trial& trial_;
  const Outcome& outcome_;
};

/// Continues ranks that have been stopped for a second.
class LetGo {
 public:
  void operator()(const std::set<pid_t>& pids) {
    for (const pid_t pid : pids) {
      const auto process = process_state(pid);
      if (!process || process->state != 'T') continue;
      const double now = monotonic_seconds();
      if (now - stopped_.try_emplace(pid, now).first->second >= 1) kill(pid, SIGCONT);
    }
  }

 private:
  std::map<pid_t, double> stopped_;  ///< since when
};

class Supervision : public ::testing::TestWithParam<Trial> {};

TEST_P(Supervision, NamesTheRankAndItsAction) {
  const Trial& trial = GetParam();
  const TemporaryFolder folder;
  LetGo let_go;
  // Only the launch waits for a process that does not end.
  const bool waited_for = trial.place == "finalize" && trial.hangs();
  const Outcome outcome =
      run(trial, trial.fault(), 3, std::chrono::seconds(waited_for ? 20 : 60), folder.path(), [&](const auto& pids) {
        if (trial.way == "paused") let_go(pids);
      });
  const Row row(trial, outcome);
  const std::string& words = outcome.finding.words;

  if (trial.goes_on()) {
    EXPECT_EQ(outcome.finding.exit_code, 0) << words << outcome.output;
    return;
  }
  EXPECT_NE(outcome.finding.exit_code, 0) << words << outcome.output;
  if (trial.way == "throws" && trial.place == "start") {
    // All ranks agree to exit, and the record's folder is free again; the message is that of the lowest failed rank.
    EXPECT_THAT(words, HasSubstr("thrown for a test"));
    if (trial.rank > 0) {
      EXPECT_EQ(outcome.finding.culprit_rank, trial.rank) << words;
    }
    return;
  }
  EXPECT_EQ(outcome.finding.culprit_rank, trial.rank) << words << "\n" << outcome.output;
  if (trial.place == "finalize") {
    EXPECT_THAT(words, HasSubstr("every rank completed, but rank " + std::to_string(trial.rank) +
                                 expected_text_after_the_run(trial)))
        << outcome.output;
    return;
  }
  EXPECT_THAT(words, HasSubstr("rank " + std::to_string(trial.rank) + " " + expected_text(trial))) << outcome.output;
  EXPECT_THAT(words, HasSubstr(action_of(trial))) << outcome.output;
  EXPECT_FALSE(outcome.finding.timed_out) << "ranks have their own deadline";
}

std::vector<Trial> every_trial() {
  std::vector<Trial> trials;
  for (const std::string way : {"killed", "stopped", "hangs", "spins", "throws", "leaves", "slow", "paused"}) {
    for (const std::string place : {"start", "forward", "backward", "receive", "update", "end", "finalize"}) {
      if (way == "throws" && place == "finalize") continue;  // a C function cannot throw
      for (const std::int64_t world : {2, 4, 8}) {
        for (const std::int64_t rank : std::set<std::int64_t>{0, world / 2, world - 1})
          trials.push_back({way, place, world, rank});
      }
    }
  }
  return trials;
}

INSTANTIATE_TEST_SUITE_P(Matrix, Supervision, ::testing::ValuesIn(every_trial()),
                         [](const auto& trial) { return trial.param.name(); });

/// Sends the signal to the launcher itself, half a second after both its ranks were seen.
LaunchFinding with_launcher_sent(int signal, std::chrono::seconds time_limit) {
  const TemporaryFolder folder;
  int glances = 0;
  return run({"launcher", "run"}, "N3", 100000, time_limit, folder.path(),
             [&](const std::set<pid_t>& pids) {
               if (pids.size() < 2 || ++glances != 25) return;
               const auto rank = process_state(*pids.begin());
               if (rank) kill(rank->parent, signal);
             })
      .finding;
}

TEST(SupervisionOfTheLauncher, AKilledLauncherIsNotARank) {
  const LaunchFinding finding = with_launcher_sent(SIGKILL, std::chrono::seconds(60));
  EXPECT_FALSE(finding.culprit_rank) << finding.words;
  EXPECT_THAT(finding.words, HasSubstr("mpirun was killed by signal 9 (SIGKILL)"));
  EXPECT_FALSE(finding.timed_out);
}

TEST(SupervisionOfTheLauncher, ReportsAStoppedLauncher) {
  const LaunchFinding finding = with_launcher_sent(SIGSTOP, std::chrono::seconds(8));
  EXPECT_FALSE(finding.culprit_rank) << finding.words;
  EXPECT_THAT(finding.words, HasSubstr("mpirun was stopped (SIGSTOP)"));
}

}  // namespace
}  // namespace plumbline
