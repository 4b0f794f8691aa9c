// SPDX-License-Identifier: BSD-3-Clause
// A failing cell, run once more: whether it fails again, and where, with the tensors themselves dumped.
#pragma once

#include <cstddef>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_services.hpp"
#include "harness/sweep/sweep_trainers.hpp"

namespace plumbline {

class SecondRuns {
 public:
  SecondRuns(const SweepFile& file, const SweepPlan& plan, const SweepFolder& folder, const SweepTrainers& trainers,
             const SweepServices& services, StopSignals& signals)
      : file_(file), plan_(plan), folder_(folder), trainers_(trainers), services_(services), signals_(signals) {}

  /// Notes in `verdict` what came of it. Where values differ, the first few cells run at level dump, and the first
  /// divergence then says in which element. Throws only where a stop was asked for.
  void run(const PlannedCell& cell, const LaunchFinding& reference, CellVerdict& verdict);

 private:
  SecondRun again(const PlannedCell& cell, const LaunchFinding& reference, bool dump, CellVerdict& verdict);
  std::filesystem::path dumped_reference(const PlannedReference& reference, std::int64_t step);
  void localise(const CellVerdict& second, const std::filesystem::path& reference,
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
