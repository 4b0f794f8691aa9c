// SPDX-License-Identifier: BSD-3-Clause
// The record's folder of a job, begun before any rank trains.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/launch.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "record/record.hpp"
#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// What rank 0 does before any rank begins: the folder is this run's. Throws InputError when it holds another run.
void claim_record(const PipelineOptions& options, const PipelinePlan& plan);

/// What rank 0 does when all have loaded their parts: the record says what it will hold. `libraries`: name and version
/// of what carries messages; `clock_skew_ns`: AlignedClock::skew.
struct RecordStart {
  std::optional<ResumedFrom> resumed_from = std::nullopt;
  Json libraries = Json::object();
  std::int64_t clock_skew_ns = 0;
};
void begin_record(const PipelineOptions& options, const TrainingRun& training, const PipelinePlan& plan,
                  const RecordStart& start);

}  // namespace plumbline
