// SPDX-License-Identifier: BSD-3-Clause
// Turns a run's schedule, a name or an imported file, into executable lists: made or read, verified, lowered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "schedule/csv_import.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"

namespace plumbline {

/// The file's list is valid, but for other sizes than the run's.
class OtherSizes : public InputError {
 public:
  using InputError::InputError;
};

/// Whether a run's `schedule` denotes a CSV file (it ends in .csv) instead of a name.
bool names_schedule_file(const std::string& schedule);

/// What a run requests.
struct ScheduleRequest {
  std::string schedule;  ///< a name of schedule_names(), or a file's path
  std::int32_t ranks = 1;
  std::int32_t microbatches = 1;
  std::int32_t chunks = 0;  ///< 0: the schedule's default, or the file's number
  bool tied = false;
  std::string transport = "mpi";
};

struct RunnableSchedule {
  Schedule compute;                ///< F, B, I and W only; its name is the file's name with extension if it is imported
  Schedule lowered;                ///< with messages, REDUCE and STEP
  bool own_messages = false;       ///< `lowered` is the file's own list, not made by lower()
  std::vector<std::string> notes;  ///< what the import omitted or assumed

  /// schedule.csv's bytes: the compute actions, or all actions if the messages are the file's own.
  std::string csv() const { return to_csv(own_messages ? lowered : compute); }
};

/// A file of compute actions is lowered like a generated schedule; a file with SEND and RECV is used unchanged, with
/// REDUCE and STEP added at its end if they are missing. The result cannot deadlock over `transport`. Throws InputError
/// as make_schedule and import_schedule do, and for a file's first findings (a deadlock with its cycle); OtherSizes
/// with the sizes that would fit.
RunnableSchedule make_runnable(const ScheduleRequest& request);

/// Reads a record's schedule.csv. Throws InputError if the lists are incomplete or would deadlock.
RunnableSchedule runnable_from_record(const std::string& path, const std::string& name, std::int32_t chunks_per_rank,
                                      bool tied);

}  // namespace plumbline
