// SPDX-License-Identifier: BSD-3-Clause
// Creates the record folder of a job before any rank trains.
#pragma once

#include <cstdint>
#include <optional>

#include "pipeline/launch.hpp"
#include "pipeline/pipeline_plan.hpp"
#include "record/record.hpp"
#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Rank 0, before any rank starts: claims the folder for this run. Throws InputError if it holds another run.
void claim_record(const PipelineOptions& options, const PipelinePlan& plan);

/// Rank 0, after all ranks loaded their parts: writes the record's description. `libraries`: name and version of the
/// message libraries; `clock_skew_ns`: AlignedClock::skew.
struct RecordStart {
  std::optional<ResumedFrom> resumed_from = std::nullopt;
  Json libraries = Json::object();
  std::int64_t clock_skew_ns = 0;
};
void begin_record(const PipelineOptions& options, const TrainingRun& training, const PipelinePlan& plan,
                  const RecordStart& start);

}  // namespace plumbline
