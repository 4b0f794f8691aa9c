// SPDX-License-Identifier: BSD-3-Clause
// Starts and watches two ranks of the built trainer as a sweep does, and disturbs one of them while they train.
#pragma once

#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "harness/launch/launcher.hpp"
#include "record/exit_file.hpp"
#include "record/progress_page.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "support/files.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

/// A rank that hangs, is slow or dies gets the same messages on every transport, so each transport runs the same tests.
class DisturbedRanks : public ::testing::Test {
 protected:
  static constexpr std::int64_t victim = 1;

  /// Calls `disturb` with the victim's process and the time since it was first seen in step 2, every 20 ms from then
  /// on. `launcher`: words before the program; `arguments`: transport and device.
  void run(const std::string& launcher, const std::string& program, const std::string& arguments, int steps,
           int timeout_ms, const std::function<void(pid_t, std::chrono::milliseconds)>& disturb) {
    const auto run_file = folder_ / "run.toml";
    std::ofstream(run_file) << "[model]\nconfig = \"" + fixtures_path() + "/models/stories260k/config.json\"\n"
                            << "[data]\ntext = \"" + fixtures_path() +
                                   "/corpus/\"\nlengths = [16, 9, 24, 12]\nbatch = 2\n"
                            << "[train]\nsteps = " << steps << "\nlearning_rate = 1e-3\n[record]\nlevel = \"summary\"\n"
                            << "[pipeline]\nschedule = \"1f1b\"\ntimeout_ms = " << timeout_ms << "\n";
    Launch launch;
    std::istringstream words(launcher + " " + program + " " + run_file.string() + " --quiet --record " +
                             (folder_ / "record").string() + " " + arguments);
    for (std::string word; words >> word;) launch.command.push_back(word);
    launch.folder = folder_ / "launch";
    std::filesystem::create_directories(launch.folder);
    launch.record = folder_ / "record";
    launch.ranks = 2;
    launch.speaker = "plumbline-pipeline";
    launch.time_limit = std::chrono::minutes(2);
    std::optional<std::chrono::steady_clock::time_point> begun;
    launch.at_glance = [&] {
      for (std::int64_t rank = 0; rank < 2; ++rank) {
        const auto page = read_progress(launch.record / rank_folder(rank) / "progress");
        if (!page) continue;
        pids_[static_cast<std::size_t>(rank)] = page->pid;
        if (rank == victim && page->step >= 2 && !begun) begun = std::chrono::steady_clock::now();
      }
      if (!begun) return;
      disturb(pids_[victim],
              std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - *begun));
    };
    StopSignals signals;
    finding_ = plumbline::launch(launch, signals);
    ASSERT_TRUE(begun) << "the run ended before it could be disturbed: " << output();
    for (const pid_t pid : pids_) EXPECT_TRUE(kill(pid, 0) != 0 && errno == ESRCH) << "process " << pid << " was left";
  }

  void expect_a_hang_to_be_named(const std::string& launcher, const std::string& program,
                                 const std::string& arguments) {
    run(launcher, program, arguments, 100000, 10000, [](pid_t pid, std::chrono::milliseconds since) {
      if (since.count() < 100) kill(pid, SIGSTOP);
    });

    EXPECT_EQ(finding_.exit_code, 1) << output();
    EXPECT_EQ(finding_.culprit_rank, victim) << finding_.words;
    EXPECT_THAT(finding_.words,
                ::testing::AllOf(::testing::HasSubstr("a wait timed out: rank 1 was stopped (SIGSTOP) in"),
                                 ::testing::HasSubstr("rank 0 waited for it")));
    EXPECT_THAT(output(), ::testing::ContainsRegex("rank 0 waits for .*rank 1"));
    EXPECT_EQ(read_exit_file(folder_ / "record/rank-0/exit.json")->status, "timeout");
    EXPECT_FALSE(finding_.timed_out) << "the trainer's own deadline is the shorter one";
  }

  void expect_a_killed_rank_to_be_named(const std::string& launcher, const std::string& program,
                                        const std::string& arguments) {
    run(launcher, program, arguments, 100000, 60000, [](pid_t pid, std::chrono::milliseconds) { kill(pid, SIGKILL); });

    EXPECT_NE(finding_.exit_code, 0);
    EXPECT_EQ(finding_.culprit_rank, victim) << finding_.words;
    EXPECT_THAT(finding_.words, ::testing::HasSubstr("rank 1 was killed by signal 9 (SIGKILL) in"));
    EXPECT_FALSE(finding_.timed_out);
    EXPECT_FALSE(read_exit_file(folder_ / "record/rank-1/exit.json")) << "a killed rank writes none";
  }

  /// A rank that pauses for less than the deadline costs only time; the record shows who waited.
  void expect_a_straggler_to_be_waited_for(const std::string& launcher, const std::string& program,
                                           const std::string& arguments) {
    run(launcher, program, arguments, 40, 30000,
        [](pid_t pid, std::chrono::milliseconds since) { kill(pid, since.count() < 3000 ? SIGSTOP : SIGCONT); });

    EXPECT_EQ(finding_.exit_code, 0) << finding_.words << output();
    const Record record = read_record(folder_ / "record");
    // The wait is in a receive, or in STEP and after it, where ranks agree on norm and loss without an action.
    std::int64_t longest_ns = 0, last_end = record.ranks[0].actions.front().end_ns;
    for (const ActionRow& row : record.ranks[0].actions) {
      longest_ns = std::max(longest_ns, row.end_ns - std::exchange(last_end, row.end_ns));
    }
    EXPECT_GE(longest_ns, 1'000'000'000) << "rank 0 had nothing to wait for";
    for (const RankRecord& rank : record.ranks) EXPECT_EQ(rank.exit->status, "ok");
  }

  std::string output() const {
    return read_file(folder_ / "launch/stdout.txt") + read_file(folder_ / "launch/stderr.txt");
  }

  TemporaryFolder folder_;
  LaunchFinding finding_;

 private:
  std::array<pid_t, 2> pids_{};
};

}  // namespace plumbline::testing
