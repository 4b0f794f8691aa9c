// SPDX-License-Identifier: BSD-3-Clause
// What all ranks agree on before the first step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/unit.hpp"
#include "schedule/schedule.hpp"
#include "training/training_run.hpp"

namespace plumbline {

struct PipelinePlan {
  Schedule schedule;               ///< compute-only
  Schedule lowered;                ///< what ranks execute
  std::string schedule_csv;        ///< for the record
  std::vector<std::string> notes;  ///< on the reading of a schedule file
  std::vector<UnitRange> stages;   ///< units of each stage
  std::int64_t origin_ns = 0;      ///< monotonic time of rank 0's start-up
};

/// Schedule, stages and lowered list for `world` ranks. Throws InputError naming the run file.
PipelinePlan make_plan(const TrainingRun& training, int world);

}  // namespace plumbline
