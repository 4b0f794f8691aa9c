// What all ranks agree on before the first step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/llama_slice.hpp"
#include "schedule/schedule.hpp"
#include "training/session.hpp"

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
PipelinePlan make_plan(const Session& session, int world);

}  // namespace plumbline
