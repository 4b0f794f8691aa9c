// SPDX-License-Identifier: BSD-3-Clause
// Schedules as CSV, in all dialects, and what is asked of a list that was read.
#include "schedule/csv_import.hpp"
#include "schedule/schedule_csv.hpp"
#include "tests/fuzz/reader.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

void import_as(const fs::path& file, std::optional<CsvDialect> dialect) {
  const ImportedSchedule imported = import_schedule(file, {.dialect = dialect});
  for (const ExecutionModel model : {ExecutionModel::blocking, ExecutionModel::buffered})
    static_cast<void>(check_imported(imported, model));
  static_cast<void>(export_schedule(imported.schedule, CsvDialect::torch));
}

const Registration all[] = {
    Registration(
        {"schedule", "schedule.csv", [](const fs::path&, const fs::path& file) { import_as(file, std::nullopt); }}),
    Registration({"schedule-torch", "schedule.csv",
                  [](const fs::path&, const fs::path& file) { import_as(file, CsvDialect::torch); }}),
    Registration({"schedule-torch-old", "schedule.csv",
                  [](const fs::path&, const fs::path& file) { import_as(file, CsvDialect::torch_old); }}),
    Registration({"schedule-of-record", "schedule.csv",
                  [](const fs::path&, const fs::path& file) {
                    static_cast<void>(schedule_from_csv(file.string(), "1f1b", 1));
                  }}),
};

}  // namespace
}  // namespace plumbline::fuzzing
