// SPDX-License-Identifier: BSD-3-Clause
// The plan that all ranks share: schedule and partition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/unit.hpp"
#include "schedule/schedule.hpp"
#include "training/training_run.hpp"

namespace plumbline {

struct PipelinePlan {
  Schedule schedule;               ///< compute actions only
  Schedule lowered;                ///< the lists that ranks execute
  std::string schedule_csv;        ///< as written to the record
  std::vector<std::string> notes;  ///< about importing a schedule file
  std::vector<UnitRange> stages;   ///< units of each stage
  std::int64_t origin_ns = 0;      ///< monotonic time of rank 0's start
};

/// Schedule, stages and lowered lists for `world` ranks. Throws InputError naming the run file.
PipelinePlan make_plan(const TrainingRun& training, int world);

}  // namespace plumbline
