// SPDX-License-Identifier: BSD-3-Clause
// From what a run asks for, a schedule's name or somebody's file, to lists that ranks can execute: made or read,
// verified, lowered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "schedule/csv_import.hpp"
#include "schedule/execution_model.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"

namespace plumbline {

/// A file's list is sound, but for other sizes than the run's.
class OtherSizes : public InputError {
 public:
  using InputError::InputError;
};

/// Whether a run's `schedule` means a CSV file (it ends in .csv) and not a name.
bool names_schedule_file(const std::string& schedule);

/// What a run asks for.
struct ScheduleRequest {
  std::string schedule;               ///< a name of schedule_names(), or a file's path
  std::optional<CsvDialect> dialect;  ///< of the file; told by its cells when not given
  /// What the user passes to name the dialect, for the message on a file that could be of either.
  std::string dialect_option = "--schedule-dialect";
  std::int32_t ranks = 1;
  std::int32_t microbatches = 1;
  std::int32_t chunks = 0;  ///< 0: as many as the schedule is made for, or as the file has
  bool tied = false;
  ExecutionModel model = ExecutionModel::blocking;  ///< the transport's
};

struct RunnableSchedule {
  Schedule compute;           ///< F, B, I and W alone; its name is the file's, ending included, where it is of a file
  Schedule lowered;           ///< with messages, REDUCE and STEP
  bool own_messages = false;  ///< `lowered` is the file's own list, not made by lower()
  std::vector<std::string> notes;  ///< what the import left out or assumed

  /// schedule.csv's bytes: the compute actions, or all actions where the messages are the file's own.
  std::string csv() const { return to_csv(own_messages ? lowered : compute); }
};

/// A file of compute actions is lowered as a generated schedule is; a file with SEND and RECV is taken as it stands,
/// REDUCE and STEP put at its end where it has none. Nothing is returned that could deadlock under `model`. Throws
/// InputError: what make_schedule and import_schedule refuse, and a file's first findings (a deadlock with its circle);
/// OtherSizes with what would fit.
RunnableSchedule make_runnable(const ScheduleRequest& request);

/// Reads a record's schedule.csv back. Throws InputError when the lists are not complete or would deadlock under every
/// model.
RunnableSchedule runnable_from_record(const std::string& path, const std::string& name, std::int32_t chunks_per_rank,
                                      bool tied);

}  // namespace plumbline
