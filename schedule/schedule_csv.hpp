// SPDX-License-Identifier: BSD-3-Clause
// Schedules as CSV files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "schedule/schedule.hpp"

namespace plumbline {

/// schedule.csv: one row per rank, without bubbles. `to_csv` returns the file's exact bytes.
std::string to_csv(const Schedule& schedule);
/// Reads lists of any actions without checking them. The placement is loop or V, whichever fits the stages in the rows.
Schedule lists_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank);
/// The same without messages, REDUCE and STEP.
Schedule compute_actions(Schedule schedule);
/// The compute actions of a record's schedule.csv (runnable_from_record also returns its messages). Throws InputError
/// with the first finding of find_incomplete.
Schedule schedule_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank);

/// Throws InputError if the file has far fewer actions than one for each stage and microbatch: tables of both would not
/// be linear in its size.
void refuse_sparse(const std::string& path, const Schedule& schedule, std::size_t actions);

/// InputError of a cell: row and column in the message count from 1.
[[noreturn]] void refuse_cell(const std::string& path, std::size_t row, std::size_t column, const std::string& cell,
                              const std::string& what);

}  // namespace plumbline
