// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/job_record.hpp"

#include <cstdio>

#include "model/unit.hpp"
#include "schedule/accumulation_order.hpp"
#include "training/manifest.hpp"

namespace plumbline {
namespace {

Json mesh_json(const PipelinePlan& plan, int replica) {
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(plan.replicas));
  for (int rank = 0; rank < plan.world(); ++rank)
    ranks[static_cast<std::size_t>(plan.replica_of(rank))].push_back(rank);
  const Json replicas = {{"name", "replica"}, {"size", plan.replicas}, {"kind", "replicate"}};
  const Json stages = {{"name", "pipeline"}, {"size", plan.ranks()}, {"kind", "pipeline"}};
  return {{"axes", Json::array({replicas, stages})}, {"replicas", ranks}, {"replica", replica}};
}

}  // namespace

void claim_record(const PipelineOptions& options, const PipelinePlan& plan) {
  if (!options.record.empty()) claim_record_folder(options.record);
  if (!options.progress) return;
  for (const std::string& note : plan.notes) {
    std::fprintf(stderr, "%s: note: %s: %s\n", options.program.c_str(), plan.schedule.name.c_str(), note.c_str());
  }
}

void begin_record(const PipelineOptions& options, const TrainingRun& training, const PipelinePlan& plan,
                  const RecordStart& start) {
  if (options.record.empty()) return;
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
                                  accumulation_csv(plan.schedule, units_of_stages, plan.replicas)};
  TrainingRun own = run_of_replica(training, plan, 0);  // each has as many microbatches
  own.validation = training.validation;                 // but all of an evaluation
  Json manifest = make_manifest("pipeline", options.command, own, plan.ranks(), schedule, stages, start.resumed_from);
  manifest["versions"].update(start.libraries);
  manifest["clock_skew_ns"] = start.clock_skew_ns;
  for (int replica = 0; replica < plan.replicas; ++replica) {
    if (plan.replicas > 1) manifest["mesh"] = mesh_json(plan, replica);
    write_record_start(plan.folders(options.record).pipeline_of(replica * plan.ranks()), training, manifest, schedule);
  }
}

}  // namespace plumbline
