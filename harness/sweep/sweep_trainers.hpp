// SPDX-License-Identifier: BSD-3-Clause
// Starts the two trainers for a sweep: each run with a folder of its own for run file, command, output and finding.
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

/// In a run's launch folder: what was asked of it.
inline constexpr const char* request_name = "request.json";

class SweepTrainers {
 public:
  /// `inputs`: what every run must find as it was. `programs`: the folder that holds both. `at_glance` is called now
  /// and then while a run is under way, in its thread; what it throws is thrown on when the run has ended.
  SweepTrainers(const SweepFile& file, const SweepInputs& inputs, const std::filesystem::path& programs,
                const SweepFolder& folder, StopSignals& signals, std::function<void()> at_glance);

  /// The same on some of the sweep's slots, by their numbers from 0: where ranks take GPUs they see those alone.
  SweepTrainers on(std::vector<std::int64_t> slots) const;

  /// What was found when the run has ended. Any thread may ask. `dump`: at level dump. Throws SystemError: a stop was
  /// asked for, the launcher is not there, the disk is full, an input is another one than before. A trainer's own exit
  /// code 3 is only a failure of this run. Of a reference `dump` is the step whose dump tells what gradients were after
  /// each microbatch, too.
  LaunchFinding run(const PlannedReference& reference, const std::string& id, const std::filesystem::path& record,
                    std::optional<std::int64_t> dump = std::nullopt) const;
  /// `start_weights`: what the cell begins from, at level dump, in the calibrated tier.
  LaunchFinding run(const PlannedCell& cell, const std::string& id, const std::filesystem::path& record,
                    bool dump = false, const std::optional<std::filesystem::path>& start_weights = std::nullopt) const;

  /// What a run is asked for, as it is written beside its run file before it starts.
  Request request_of(const PlannedReference& reference, bool dump = false) const;
  Request request_of(const PlannedCell& cell, bool dump = false) const;

 private:
  std::vector<std::string> pipeline_command(std::int64_t world) const;
  std::filesystem::path first_part_checkpoint(const PlannedStart& begin, const std::string& id) const;
  LaunchFinding run_first_part(const PlannedStart& begin, const PlannedCell& cell, const std::string& id) const;
  LaunchFinding without_second_part(LaunchFinding first, const std::string& id,
                                    const std::filesystem::path& record) const;
  using Files = std::map<std::string, std::string>;
  LaunchFinding run_command(const PlannedCommand& command, const std::string& id, const std::filesystem::path& record,
                            const Request& request, bool dump) const;
  /// Runs it to its end, and keeps what came of it.
  LaunchFinding end_of(Launch launch, const std::string& id) const;
  /// `files`: what is put beside one another into the launch folder, by name, run.toml among it. `options`: of the
  /// trainer, beside those of every run.
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
