// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/job_record.hpp"

#include <cstdio>

#include "model/unit.hpp"
#include "schedule/accumulation_order.hpp"
#include "training/manifest.hpp"

namespace plumbline {

void claim_record(const PipelineOptions& options, const PipelinePlan& plan) {
  claim_record_folder(options.record);
  if (!options.progress) return;
  for (const std::string& note : plan.notes) {
    std::fprintf(stderr, "%s: note: %s: %s\n", options.program.c_str(), plan.schedule.name.c_str(), note.c_str());
  }
}

void begin_record(const PipelineOptions& options, const TrainingRun& training, const PipelinePlan& plan,
                  const RecordStart& start) {
  const auto units = unit_names(training.config);
  std::vector<StageEntry> stages;
  std::vector<std::vector<std::string>> units_of_stages;
  for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
    const UnitRange range = plan.stages[stage];
    stages.push_back({static_cast<std::int64_t>(stage),
                      plan.schedule.placement.rank_of(static_cast<std::int32_t>(stage)),
                      {units.begin() + range.first, units.begin() + range.end}});
    units_of_stages.push_back(stages.back().units);
  }
  const ManifestSchedule schedule{plan.schedule.name, plan.schedule.placement.chunks_per_rank, plan.schedule_csv,
                                  accumulation_csv(plan.schedule, units_of_stages)};
  Json manifest = make_manifest("pipeline", options.command, training, plan.schedule.placement.ranks, schedule, stages,
                                start.resumed_from);
  manifest["versions"].update(start.libraries);
  manifest["clock_skew_ns"] = start.clock_skew_ns;
  write_record_start(options.record, training, manifest, schedule);
}

}  // namespace plumbline
