// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/pipeline_plan.hpp"

#include <utility>
#include <vector>

#include "model/unit.hpp"
#include "pipeline/partition.hpp"
#include "schedule/runnable.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {

namespace {

RunnableSchedule schedule_of(const Run& run, int world) {
  const PipelineSettings& settings = run.pipeline;
  ScheduleRequest request;
  request.schedule = settings.schedule;
  request.ranks = world / settings.replicas;
  request.microbatches = static_cast<std::int32_t>(run.file.microbatches() / settings.replicas);
  request.chunks = settings.chunks;
  request.tied = run.config.tied;
  request.transport = settings.transport;
  return make_runnable(request);
}

void check_replicas(const Run& run, int world) {
  const PipelineSettings& settings = run.pipeline;
  if (settings.replicas == 1) return;
  const std::string replicas = "pipeline.replicas is " + std::to_string(settings.replicas);
  if (world % settings.replicas != 0) {
    throw InputError(replicas + ", which does not divide the " + std::to_string(world) + " rank" +
                     (world == 1 ? "" : "s") + "; all replicas have the same number of ranks: start a multiple of " +
                     std::to_string(settings.replicas));
  }
  if (run.validation && run.validation->microbatches() % settings.replicas != 0) {
    throw InputError(
        replicas + ", which does not divide the " + std::to_string(run.validation->microbatches()) +
        " microbatches of an evaluation; all replicas evaluate the same number: give evaluate.microbatches "
        "as a multiple of " +
        std::to_string(settings.replicas));
  }
}

}  // namespace

PipelinePlan make_plan(const Run& run, int world) try {
  const PipelineSettings& settings = run.pipeline;
  check_replicas(run, world);
  PipelinePlan plan;
  plan.replicas = settings.replicas;
  RunnableSchedule runnable = schedule_of(run, world);
  plan.schedule_csv = runnable.csv();
  plan.notes = std::move(runnable.notes);
  plan.schedule = std::move(runnable.compute);
  plan.lowered = std::move(runnable.lowered);
  plan.stages = partition(run.config, settings, plan.schedule.placement.stages(), run.batches.padded_rows());
  return plan;
} catch (const InputError& error) {  // these functions do not know the run file
  throw InputError(run.file.path.string() + ": " + error.what());
}

BatchPlan part_of_replica(const BatchPlan& all, const PipelinePlan& plan, int replica) {
  return all.part(replica, plan.replicas);
}

std::vector<StageEntry> stage_entries(const Run& run, const PipelinePlan& plan) {
  const std::vector<std::string> units = unit_names(run.config);
  std::vector<StageEntry> entries;
  for (const UnitRange range : plan.stages) {
    const auto stage = static_cast<std::int32_t>(entries.size());
    entries.push_back(
        {stage, plan.schedule.placement.rank_of(stage), {units.begin() + range.first, units.begin() + range.end}});
  }
  return entries;
}

Json plan_json(const Run& run, const PipelinePlan& plan) {
  return {{"ranks", plan.world()},
          {"replicas", plan.replicas},
          {"schedule", plan.schedule.name},
          {"chunks_per_rank", plan.schedule.placement.chunks_per_rank},
          {"stages", stage_entries(run, plan)},
          {"notes", plan.notes}};
}

}  // namespace plumbline
