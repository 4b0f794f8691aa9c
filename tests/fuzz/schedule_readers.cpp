// SPDX-License-Identifier: BSD-3-Clause
// Schedules as CSV, and functions that run on a list that was read.
#include "schedule/csv_import.hpp"
#include "schedule/schedule_csv.hpp"
#include "tests/fuzz/reader.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

void import(const fs::path& /*folder*/, const fs::path& file) {
  const ImportedSchedule imported = import_schedule(file);
  for (const char* transport : {"mpi", "nccl"}) static_cast<void>(check_imported(imported, transport));
  static_cast<void>(export_for_torch(imported.schedule));
}

const Registration all[] = {
    Registration({"schedule", "schedule.csv", import}),
    Registration({"schedule-of-record", "schedule.csv",
                  [](const fs::path&, const fs::path& file) {
                    static_cast<void>(schedule_from_csv(file.string(), "1f1b", 1));
                  }}),
};

}  // namespace
}  // namespace plumbline::fuzzing
