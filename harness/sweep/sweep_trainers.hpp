// SPDX-License-Identifier: BSD-3-Clause
// Starts the trainers of a sweep. Each run has its own folder for run file, command, output and finding.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/request/request.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/stop_signals.hpp"
#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_inputs.hpp"
#include "harness/sweep/trainer_programs.hpp"

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

  /// Runs to the end and returns the finding. Thread-safe. `dump`: record at level dump. Throws SystemError: a stop was
  /// requested, the launcher is missing, the disk is full, an input has changed. A trainer's exit code 3 is only a
  /// failure of this run. For a reference, `dump` is the step whose dump also has the gradients after each microbatch.
  LaunchFinding run(const PlannedReference& reference, const std::string& id, const std::filesystem::path& record,
                    std::optional<std::int64_t> dump = std::nullopt) const;
  /// `start_weights`: the case's start, with level dump, in the mode calibrated.
  LaunchFinding run(const PlannedCell& cell, const std::string& id, const std::filesystem::path& record,
                    bool dump = false, const std::optional<std::filesystem::path>& start_weights = std::nullopt) const;

  /// The request of a run, as written next to its run file before it starts.
  Request request_of(const PlannedReference& reference, bool dump = false) const;
  Request request_of(const PlannedCell& cell, bool dump = false) const;

 private:
  std::vector<std::string> pipeline_command(std::int64_t world) const;
  std::filesystem::path first_segment_checkpoint(const PlannedStart& begin, const std::string& id) const;
  LaunchFinding run_first_segment(const PlannedStart& begin, const PlannedCell& cell, const std::string& id) const;
  LaunchFinding resume_not_run(LaunchFinding first, const std::string& id, const std::filesystem::path& record) const;
  using Files = std::map<std::string, std::string>;
  LaunchFinding run_command(const PlannedCommand& command, const std::string& id, const std::filesystem::path& record,
                            const Request& request, bool dump) const;
  /// Runs to the end and stores the finding.
  LaunchFinding end_of(Launch launch, const std::string& id) const;
  /// `files`: files of the launch folder by name, including run.toml. `options`: of the trainer, in addition to the
  /// common ones.
  LaunchFinding start(const std::string& id, const std::filesystem::path& record, std::vector<std::string> command,
                      const std::string& speaker, std::int64_t ranks, const Files& files,
                      const std::optional<Request>& request = std::nullopt,
                      const std::vector<std::string>& options = {}) const;

  void refuse_full_disk(const std::string& id) const;

  const SweepFile& file_;
  const SweepInputs& inputs_;
  std::filesystem::path programs_;
  const SweepFolder& folder_;
  StopSignals& signals_;
  std::function<void()> at_glance_;
  std::vector<std::int64_t> slots_;  ///< empty: all
};

}  // namespace plumbline
