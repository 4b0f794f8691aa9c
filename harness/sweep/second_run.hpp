// SPDX-License-Identifier: BSD-3-Clause
// Repeats a failing case, to see whether it fails again and, with dumps, where.
#pragma once

#include <cstddef>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_trainers.hpp"
#include "harness/sweep/sweep_verdict.hpp"

namespace plumbline {

/// Ends the words of a second run that could not dump, because the user's commands do not take the level.
inline constexpr const char* level_hint = "; to see the first element that differs, pass {level} to both commands";

class SecondRuns {
 public:
  SecondRuns(const SweepFile& file, const SweepPlan& plan, const SweepFolder& folder, const SweepTrainers& trainers,
             const SweepServices& services, StopSignals& signals)
      : file_(file), plan_(plan), folder_(folder), trainers_(trainers), services_(services), signals_(signals) {}

  /// Adds the result to `verdict`. If values differ, the first few cases run at level dump, which locates the first
  /// divergence by element. Throws only if a stop was requested.
  void run(const PlannedCell& cell, const LaunchFinding& reference, CellVerdict& verdict);

 private:
  SecondRun again(const PlannedCell& cell, const LaunchFinding& reference, bool dump, CellVerdict& verdict);
  std::filesystem::path dumped_reference(const PlannedReference& reference, const std::string& id);
  void localize(const CellVerdict& second, const std::filesystem::path& reference,
                const std::filesystem::path& candidate, CellVerdict& verdict) const;

  const SweepFile& file_;
  const SweepPlan& plan_;
  const SweepFolder& folder_;
  const SweepTrainers& trainers_;
  const SweepServices& services_;
  StopSignals& signals_;
  std::size_t dumps_ = 0;
};

}  // namespace plumbline
