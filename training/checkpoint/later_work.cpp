// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/later_work.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/checkpoint/metrics_file.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct LaterWork {
  std::int64_t kept = 0;              ///< steps of the newest checkpoint that remains; 0: none
  std::vector<fs::path> checkpoints;  ///< newest first
  std::int64_t rows = 0;              ///< of metrics.csv, if none of them belongs to this run
};

bool resumes_latest(const TrainingRun& training) {
  return training.resume == "latest";
}

/// Whether the run continues the training of this folder: from one of its checkpoints, or from `latest`.
bool continues(const TrainingRun& training, const fs::path& folder) {
  if (!training.resume || resumes_latest(training)) return training.resume.has_value();
  std::error_code absent;
  const fs::path resumed = fs::canonical(*training.resume, absent);
  return !absent && steps_of_name(resumed) && fs::equivalent(resumed.parent_path(), folder, absent);
}

LaterWork later_work(const TrainingRun& training, std::int64_t steps) {
  const fs::path& folder = *training.run.checkpoint.folder;
  LaterWork later;
  const bool goes_on = continues(training, folder);
  if (goes_on) later.kept = steps;
  for (const fs::path& each : all_checkpoints(folder)) {
    if (*steps_of_name(each.filename()) > later.kept && path_exists(each)) later.checkpoints.push_back(each);
  }
  if (!goes_on) later.rows = metrics_rows(folder);
  return later;
}

std::string names_of(const LaterWork& later) {
  std::vector<std::string> names;
  for (const fs::path& each : later.checkpoints) names.push_back(each.filename().string());
  if (later.rows > 0) names.push_back(std::to_string(later.rows) + " rows of metrics.csv");
  return join(names, ", ");
}

/// A name next to it that is not taken.
fs::path discarded_path(const fs::path& path) {
  const std::string name = path.string() + ".discarded";
  fs::path free = name;
  for (int number = 2; path_exists(free); ++number) free = name + "-" + std::to_string(number);
  return free;
}

}  // namespace

void require_no_later_work(const TrainingRun& training, std::int64_t steps) {
  if (resumes_latest(training)) return;
  const LaterWork later = later_work(training, steps);
  const std::string names = names_of(later);
  if (names.empty()) return;
  throw InputError(training.run.checkpoint.folder->string() + ": holds " + names + ", but this run starts " +
                   (steps == 0 ? "at step 0" : "after step " + std::to_string(steps)) +
                   " and would replace them. --resume latest continues them; another folder (--checkpoint DIR) keeps "
                   "them; --discard-later renames them to step-N.discarded");
}

void discard_later_work(const TrainingRun& training, std::int64_t steps) {
  const fs::path& folder = *training.run.checkpoint.folder;
  const fs::path metrics = folder / metrics_file_name;
  const LaterWork later = later_work(training, steps);
  if (names_of(later).empty()) return;
  // A copy: a resumed run keeps the rows before its start.
  if (!resumes_latest(training) && metrics_rows(folder) > 0)
    write_file(discarded_path(metrics), read_file(metrics, most_by_program));
  for (const fs::path& each : later.checkpoints) {
    const fs::path discarded = discarded_path(each);
    std::error_code error;
    fs::rename(each, discarded, error);
    if (error) throw SystemError(each.string() + ": cannot be renamed: " + error.message());
    std::fprintf(stderr, "note: %s is now %s\n", each.c_str(), discarded.filename().c_str());
  }
  if (later.kept > 0) return point_latest_at(checkpoint_path(folder, later.kept));
  if (fs::is_symlink(folder / "latest")) fs::remove(folder / "latest");
}

}  // namespace plumbline
