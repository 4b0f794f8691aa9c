// SPDX-License-Identifier: BSD-3-Clause
// Launches of small shell programs, each in its own folder.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "harness/launch/launcher.hpp"
#include "tests/harness/fake_programs.hpp"

namespace plumbline::testing {

class LaunchTest : public ::testing::Test {
 protected:
  using milliseconds = std::chrono::milliseconds;

  /// Runs `body` as the program of a single rank, with the record in record/.
  LaunchFinding run(const std::string& body, std::int64_t ranks = 1, milliseconds limit = std::chrono::minutes(10)) {
    return run_command({program(folder_, "rank", body).string(), record()}, ranks, limit);
  }
  /// Runs `body` as each rank's program with the fake mpirun; $FAKE_RANK is the rank.
  LaunchFinding run_ranks(const std::string& body, std::int64_t ranks, milliseconds limit = std::chrono::minutes(10)) {
    const auto mpirun = program(folder_, "fake-mpirun", fake_mpirun());
    const auto rank = program(folder_, "rank", body);
    return run_command({mpirun.string(), "-n", std::to_string(ranks), rank.string(), record()}, ranks, limit);
  }
  LaunchFinding run_command(const std::vector<std::string>& command, std::int64_t ranks,
                            milliseconds limit = std::chrono::minutes(10)) {
    Launch launch = given_;
    launch.command = command;
    launch.folder = folder_.path();
    launch.record = record();
    launch.ranks = ranks;
    launch.speaker = "rank";
    launch.time_limit = limit;
    launch.grace = grace_;
    launch.at_glance = [&] {
      std::ofstream(folder_ / "glances", std::ios::app) << '.';
      if (at_glance_) at_glance_();
    };
    StopSignals signals;
    return plumbline::launch(launch, signals);
  }
  std::string record() const { return (folder_ / "record").string(); }
  /// Reads a number that a program of the test wrote.
  pid_t pid_in(const std::string& file) const { return std::atoi(bytes_of(folder_ / file).c_str()); }
  std::string in(const std::string& file) const { return (folder_ / file).string(); }
  std::string output() const { return bytes_of(folder_ / "stdout.txt"); }

  /// Grace for a launcher that must report the dead rank itself; longer than its scheduling delay on a loaded machine.
  static constexpr milliseconds patience = std::chrono::seconds(10);

  TemporaryFolder folder_;
  Launch given_ = {};  ///< other settings
  std::function<void()> at_glance_;
  milliseconds grace_{300};
};

}  // namespace plumbline::testing
