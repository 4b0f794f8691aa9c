// SPDX-License-Identifier: BSD-3-Clause
// A launch: what to start and how to watch it.
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
  std::filesystem::path folder;                         ///< existing folder for stdout.txt and stderr.txt
  std::map<std::string, std::string> environment = {};  ///< in addition to plumbline's own
  std::filesystem::path working_folder = {};            ///< empty = plumbline's own
  std::filesystem::path record;                         ///< folder of the ranks' heartbeats: <record>/rank-<r>/progress
  std::int64_t ranks = 0;                               ///< number of ranks to watch; 0 = none (a query, not a run)
  /// The program that the command starts `ranks` times, as spelled in it; empty = the command is the trainer itself.
  std::string program = {};
  std::string speaker;  ///< prefix of the trainer's messages; empty = unknown
  std::chrono::milliseconds time_limit{std::chrono::minutes(10)};
  /// How long a rank may be stopped (SIGSTOP) before its first heartbeat, when no other rank notices.
  std::chrono::milliseconds stopped_start_limit{std::chrono::seconds(30)};
  std::chrono::milliseconds grace{1000};  ///< between SIGTERM and SIGKILL for the tree
  std::function<void()> at_glance;        ///< called every 20 ms while it runs; must not throw
};

}  // namespace plumbline
