// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/pipeline_plan.hpp"

#include <utility>

#include "pipeline/partition.hpp"
#include "schedule/runnable.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

RunnableSchedule schedule_of(const TrainingRun& training, int world) {
  const PipelineSettings& settings = training.run.pipeline;
  ScheduleRequest request;
  request.schedule = settings.schedule;
  request.ranks = world / settings.replicas;
  request.microbatches = static_cast<std::int32_t>(training.run.microbatches() / settings.replicas);
  request.chunks = settings.chunks;
  request.tied = training.config.tied;
  request.transport = settings.transport;
  return make_runnable(request);
}

void check_replicas(const TrainingRun& training, int world) {
  const PipelineSettings& settings = training.run.pipeline;
  if (settings.replicas == 1) return;
  const std::string replicas = "pipeline.replicas is " + std::to_string(settings.replicas);
  if (world % settings.replicas != 0) {
    throw InputError(replicas + ", which does not divide the " + std::to_string(world) + " rank" +
                     (world == 1 ? "" : "s") + "; all replicas have the same number of ranks: start a multiple of " +
                     std::to_string(settings.replicas));
  }
  if (training.validation && training.validation->microbatches() % settings.replicas != 0) {
    throw InputError(
        replicas + ", which does not divide the " + std::to_string(training.validation->microbatches()) +
        " microbatches of an evaluation; all replicas evaluate the same number: give evaluate.microbatches "
        "as a multiple of " +
        std::to_string(settings.replicas));
  }
}

}  // namespace

PipelinePlan make_plan(const TrainingRun& training, int world) try {
  const PipelineSettings& settings = training.run.pipeline;
  check_replicas(training, world);
  PipelinePlan plan;
  plan.replicas = settings.replicas;
  RunnableSchedule runnable = schedule_of(training, world);
  plan.schedule_csv = runnable.csv();
  plan.notes = std::move(runnable.notes);
  plan.schedule = std::move(runnable.compute);
  plan.lowered = std::move(runnable.lowered);
  plan.stages = partition(training.config, settings, plan.schedule.placement.stages(), training.plan.part(0, 1));
  return plan;
} catch (const InputError& error) {  // these functions do not know the run file
  throw InputError(training.run.path.string() + ": " + error.what());
}

TrainingRun run_of_replica(const TrainingRun& training, const PipelinePlan& plan, int replica) {
  TrainingRun own = training;
  own.plan = training.plan.part(replica, plan.replicas);
  if (training.validation) own.validation = training.validation->part(replica, plan.replicas);
  return own;
}

}  // namespace plumbline
