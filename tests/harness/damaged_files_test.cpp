// SPDX-License-Identifier: BSD-3-Clause
// Thousands of damaged input files: each file is accepted, or refused with a message that names it; accepted records
// are judged without internal errors.
#include <gtest/gtest.h>

#include "harness/commands/compare.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "harness/sweep/run_variant.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "record/exit_file.hpp"
#include "record/launch_finding.hpp"
#include "record/verdict.hpp"
#include "schedule/csv_import.hpp"
#include "schedule/runnable.hpp"
#include "support/json_text.hpp"
#include "tests/damage.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::read_damaged;
using testing::SyntheticCell;

class DamagedFiles : public ::testing::Test {
 protected:
  /// Damages the file so often that each kind of damage affects each part.
  static void expect_taken_or_refused(const fs::path& path, int times, const std::function<void()>& read,
                                      std::vector<std::string> names = {}) {
    names.push_back(path.filename().string());
    ASSERT_NO_THROW(read()) << path << ": the undamaged file is refused";
    EXPECT_GT(read_damaged(path, times, names, read), times / 4) << path;
  }
  testing::TemporaryFolder folder;
};

TEST_F(DamagedFiles, SweepAndRunFilesAreAcceptedOrRefused) {
  const std::string there = "../models/stories260k/config.json";
  folder.file("config.json", testing::bytes_of(testing::fixtures_path() + "/models/stories260k/config.json"));
  std::string text = testing::bytes_of(testing::fixtures_path() + "/runs/quick.toml");
  ASSERT_NE(text.find(there), std::string::npos);
  const auto run = folder.file("run.toml", text.replace(text.find(there), there.size(), "config.json"));
  const auto sweep = folder.file("sweep.toml", R"(run = ["run.toml"]
world_sizes = [1, 2, 4]
schedules = ["afab", "1f1b", "zb-v"]
optimizers = ["adamw", "sgd"]
clipping = true
time_limit_s = 100
[[cell]]
run = "run.toml"
world_size = 3
schedule = "1f1b"
balance = [2, 0, 3]
[[cell]]
run = "run.toml"
world_size = 2
lengths = [16, 8, [3, 4], 1]
)");

  expect_taken_or_refused(sweep, 300, [&] { make_plan(read_sweep_file(sweep)); }, {"run.toml"});
  expect_taken_or_refused(run, 300, [&] { make_plan(read_sweep_file(sweep)); }, {"sweep.toml"});
}

TEST_F(DamagedFiles, SchedulesAreAcceptedOrRefused) {
  const auto path = folder.file("s.csv", testing::bytes_of(testing::fixtures_path() + "/schedules/zbv-p2-m4.csv"));

  expect_taken_or_refused(path, 400, [&] {
    const ImportedSchedule imported = import_schedule(path, {});
    static_cast<void>(check_imported(imported, "mpi"));
  });
  ScheduleRequest requested;
  requested.schedule = path.string();
  requested.ranks = 2;
  requested.microbatches = 4;
  expect_taken_or_refused(path, 400, [&] { make_runnable(requested); });
}

TEST_F(DamagedFiles, TablesAreAcceptedOrRefused) {
  SyntheticCell cell;
  const fs::path record = cell.write_candidate();

  expect_taken_or_refused(record / "rank-1" / "exit.json", 150, [&] { read_record(record); },
                          {".csv"});  // whether a rank ended `ok` changes which tables are required
  for (const char* table :
       {"steps.csv", "microbatches.csv", "tensors.csv", "boundaries.csv", "actions.csv", "memory.csv", "traffic.csv"}) {
    expect_taken_or_refused(record / "rank-1" / table, 60, [&] { read_record(record); });
  }
}

TEST_F(DamagedFiles, ManifestsAreJudgedOrRefusedWithOurMessage) {
  SyntheticCell cell;
  const fs::path reference = cell.write_reference(), candidate = cell.write_candidate();
  int judged = 0;

  for (const fs::path& record : {reference, candidate}) {
    expect_taken_or_refused(
        record / "manifest.json", 150,
        [&] {
          const CellVerdict verdict = compare_records(reference, candidate);
          ++judged;
          Verdict alone;
          alone.cells = {verdict};
          const std::string text = json_text(to_json(alone));
          for (const char* foreign : {"json.exception", "internal error", "out of memory", "filesystem error"}) {
            EXPECT_EQ(text.find(foreign), std::string::npos) << text;
          }
        },
        {"schedule.csv", "rank-"});
  }

  EXPECT_GT(judged, 20);
}

TEST_F(DamagedFiles, FilesOfASweepFolderAreAcceptedOrRefused) {
  const auto finding = folder / "finding.json", verdict_file = folder / "verdict.json";
  LaunchFinding ended;
  ended.started = true;
  ended.words = "all is well";
  ended.culprit_rank = 1;
  write_json(finding, to_json(ended));
  SyntheticCell cell;
  Verdict verdict;
  verdict.cells = {cell.judge()};
  write_verdict(verdict_file, verdict);

  expect_taken_or_refused(finding, 500, [&] { read_launch_finding(finding); });
  expect_taken_or_refused(verdict_file, 150, [&] { read_verdict(verdict_file); });
}

TEST_F(DamagedFiles, CalibrationsAreAcceptedOrRefused) {
  const double u = 0x1p-24;
  judging::Calibration calibration;
  calibration.dtype = "float32";
  calibration.reference_run_id = "run-1";
  calibration.shadow_run_id = "run-2";
  calibration.shadow = folder / "shadow";
  calibration.null_runs = 20;
  calibration.limits[{0, "loss"}] = {u, 2 * u, 2 * u, 8 * u, judging::LimitBy::null_runs};
  const auto path = folder / "calibration.json";
  judging::write_calibration(path, calibration);

  expect_taken_or_refused(path, 500, [&] { judging::read_calibration(path); });
}

}  // namespace
}  // namespace plumbline
