// SPDX-License-Identifier: BSD-3-Clause
// Starts the trainers of a sweep. Each run has its own folder for run file, command, output and finding.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/launch/launcher.hpp"
#include "harness/launch/stop_signals.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_inputs.hpp"

namespace plumbline {

/// File name of the request in a run's launch folder.
inline constexpr const char* request_name = "request.json";

class SweepTrainers {
 public:
  /// `inputs`: files that must not change before any run. `programs`: the folder of both trainers. `at_glance` is
  /// called periodically during a run, in its thread; its exceptions are rethrown when the run has ended.
  SweepTrainers(const SweepFile& file, const SweepInputs& inputs, const std::filesystem::path& programs,
                const SweepFolder& folder, StopSignals& signals, std::function<void()> at_glance);

  /// The same, on some of the sweep's slots, numbered from 0: ranks on GPUs see only those.
  SweepTrainers on(std::vector<std::int64_t> slots) const;

  /// Runs to the end, and writes inputs, request and finding into the launch folder. Thread-safe. Throws SystemError: a
  /// stop was requested, the launcher is missing, the disk is full, an input has changed. A trainer's exit code 3 is
  /// only a failure of this run.
  LaunchFinding run(const PlannedReference& reference, const std::string& id,
                    const std::filesystem::path& record) const;
  LaunchFinding run(const PlannedCell& cell, const std::string& id, const std::filesystem::path& record) const;

 private:
  LaunchFinding resume_not_run(LaunchFinding first, const std::string& id, const std::filesystem::path& record,
                               const RunInputs& inputs) const;
  LaunchFinding start(PlannedCommand command, const std::string& id, const std::filesystem::path& record,
                      const RunInputs& inputs, const std::optional<Request>& request) const;
  void refuse_full_disk(const std::string& id) const;

  const SweepFile& file_;
  const SweepInputs& inputs_;
  RunCommands commands_;
  const SweepFolder& folder_;
  StopSignals& signals_;
  std::function<void()> at_glance_;
  std::vector<std::int64_t> slots_;  ///< empty: all
};

}  // namespace plumbline
