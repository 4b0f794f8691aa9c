// The record's folder of a job, begun before any rank trains.
#pragma once

#include "pipeline/launch.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// What rank 0 does before any rank begins: the folder is this run's, and says what it will hold. Throws InputError
/// when the folder holds another run. `libraries`: name and version of what carries messages; `clock_skew_ns`:
/// AlignedClock::skew.
void begin_record(const PipelineOptions& options, const TrainingRun& training, const PipelinePlan& plan,
                  const Json& libraries = Json::object(), std::int64_t clock_skew_ns = 0);

}  // namespace plumbline
