// SPDX-License-Identifier: BSD-3-Clause
// Runs the references of a sweep, or keeps those that are whole.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/run_size.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_options.hpp"
#include "harness/sweep/sweep_progress.hpp"
#include "harness/sweep/sweep_trainers.hpp"

namespace plumbline {

class SweepReferences {
 public:
  SweepReferences(const SweepFile& file, const SweepPlan& plan, const SweepOptions& options, const SweepFolder& folder,
                  const SweepTrainers& trainers, const SweepWork& work, SweepProgress& progress, StopSignals& signals,
                  std::FILE* log)
      : file_(file),
        plan_(plan),
        options_(options),
        folder_(folder),
        trainers_(trainers),
        work_(work),
        progress_(progress),
        signals_(signals),
        log_(log),
        findings_(plan.references.size()),
        ran_now_(plan.references.size()),
        not_finite_(plan.references.size()) {}

  /// In the mode calibrated also measures their limits. `tick` is called during parallel jobs. Throws InputError if a
  /// trainer refuses a run file, SystemError as SweepTrainers::run does.
  void run(const std::function<void()>& tick);

  /// In the plan's order; nullopt if it was not run.
  const std::vector<std::optional<LaunchFinding>>& findings() const { return findings_; }
  /// True if its record is a new one: what did not hold is judged by it.
  bool ran_now(std::size_t index) const { return ran_now_[index]; }
  /// The reason why no case can be compared with a reference that has ended.
  std::optional<std::string> why_unusable(std::size_t index);

 private:
  void end(std::size_t index);
  void calibrate_reference(std::size_t index);
  std::string launch_of(std::size_t index) const { return "reference-" + plan_.references[index].id; }

  const SweepFile& file_;
  const SweepPlan& plan_;
  const SweepOptions& options_;
  const SweepFolder& folder_;
  const SweepTrainers& trainers_;
  const SweepWork& work_;
  SweepProgress& progress_;
  StopSignals& signals_;
  std::FILE* log_;
  std::vector<std::optional<LaunchFinding>> findings_;
  std::vector<bool> ran_now_;
  std::vector<std::optional<std::string>> not_finite_;  ///< reason, empty if finite; nullopt: not inspected
};

}  // namespace plumbline
