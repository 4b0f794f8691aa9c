// SPDX-License-Identifier: BSD-3-Clause
// A schedule as a file, and back.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/schedule.hpp"

namespace plumbline {

/// schedule.csv: one row a rank, no bubbles. `to_csv` is the file's exact bytes.
std::string to_csv(const Schedule& schedule);
/// Reads lists of any actions, whatever they are worth. The placement is the one, loop or V, that the stages in the
/// rows agree with.
Schedule lists_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank);
/// The same without messages, REDUCE and STEP.
Schedule compute_actions(Schedule schedule);
/// The compute actions of a record's schedule.csv (runnable_from_record also gives its messages). Throws InputError
/// with find_incomplete's first finding.
Schedule schedule_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank);

}  // namespace plumbline
