// SPDX-License-Identifier: BSD-3-Clause
// What is to be started, and how it is watched.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace plumbline {

struct Launch {
  std::vector<std::string> command;                     ///< program (searched on PATH) and arguments
  std::filesystem::path folder;                         ///< exists; stdout.txt and stderr.txt are written into it
  std::map<std::string, std::string> environment = {};  ///< beside plumbline's own
  std::filesystem::path working_folder = {};            ///< empty = plumbline's own
  std::filesystem::path record;  ///< where the ranks' progress pages appear: <record>/rank-<r>/progress
  std::int64_t ranks = 0;        ///< how many of them to watch; 0 = none (a question, not a run)
  /// What the command is to start so many of, as it stands in it; empty = the command is the trainer itself.
  std::string program = {};
  std::string speaker;  ///< name that the trainer's messages begin with; empty = it is not known
  std::chrono::milliseconds time_limit{std::chrono::minutes(10)};
  /// For which a rank may stand still (SIGSTOP) before its first sign of life: no other rank notices that.
  std::chrono::milliseconds stopped_start_limit{std::chrono::seconds(30)};
  std::chrono::milliseconds grace{1000};  ///< between asking the tree to end and ending it
  std::function<void()> at_glance;        ///< called every 20 ms while it runs; must not throw
};

}  // namespace plumbline
