// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/checkpoint/metrics_file.hpp"

namespace plumbline {

namespace {

namespace fs = std::filesystem;

const std::string prefix = "step-", partial = ".partial";

void check(const std::error_code& error, const fs::path& path) {
  if (error) throw SystemError(path.string() + ": cannot be renamed into place: " + error.message());
}

}  // namespace

fs::path checkpoint_path(const fs::path& folder, std::int64_t steps) {
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), "%08lld", static_cast<long long>(steps));
  return folder / (prefix + number.data());
}

std::optional<std::int64_t> steps_of_name(const fs::path& checkpoint) {
  std::error_code not_there;
  const fs::path real = fs::canonical(checkpoint, not_there);
  const std::string name = (not_there ? checkpoint : real).filename().string();
  return name.starts_with(prefix) ? parse_integer(name.substr(prefix.size())) : std::nullopt;
}

fs::path partial_path(const fs::path& folder, std::int64_t steps) {
  return checkpoint_path(folder, steps).string() + partial;
}

std::vector<fs::path> all_checkpoints(const fs::path& folder) {
  std::map<std::int64_t, fs::path, std::greater<>> found;
  const auto take = [&](const fs::path& path) {
    if (const auto steps = steps_of_name(path)) found.emplace(*steps, path);
  };
  if (!folder_exists(folder)) return {};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !entry.is_symlink()) take(entry.path());
  }
  std::error_code no_link;
  if (const fs::path named = fs::read_symlink(folder / "latest", no_link); !no_link) take(folder / named.filename());
  std::vector<fs::path> paths;
  for (const auto& [steps, path] : found) paths.push_back(path);
  return paths;
}

std::vector<fs::path> whole_checkpoints(const fs::path& folder) {
  std::vector<fs::path> found = all_checkpoints(folder);
  std::erase_if(found, [](const fs::path& path) { return !path_exists(path / checkpoint_file_name); });
  return found;
}

void publish_checkpoint(const fs::path& folder, std::int64_t steps) {
  const fs::path from = partial_path(folder, steps), to = checkpoint_path(folder, steps);
  std::error_code error;
  sync_path(from);
  fs::rename(from, to, error);
  check(error, to);
  point_latest_at(to);
  sync_path(folder);  // renames are durable then
}

void point_latest_at(const fs::path& checkpoint) {
  const fs::path folder = checkpoint.parent_path(), link = folder / "latest", made = folder / "latest.partial";
  std::error_code error;
  if (fs::read_symlink(link, error) == checkpoint.filename()) return;
  fs::remove(made, error);
  fs::create_directory_symlink(checkpoint.filename(), made, error);
  check(error, made);
  fs::rename(made, link, error);
  check(error, link);
}

void remove_partial_checkpoints(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name.starts_with(prefix) || name.starts_with("metrics.csv.") || name.starts_with(".seen.");
    if (ours && name.ends_with(partial)) fs::remove_all(entry.path(), ignored);
  }
}

void prune_checkpoints(const fs::path& folder, std::int64_t keep) {
  const std::vector<fs::path> whole = whole_checkpoints(folder);
  if (whole.size() <= static_cast<std::size_t>(keep)) return;
  const std::int64_t oldest = *steps_of_name(whole[static_cast<std::size_t>(keep) - 1]);
  for (const fs::path& each : all_checkpoints(folder)) {
    const std::int64_t steps = *steps_of_name(each.filename());
    const fs::path going = partial_path(folder, steps);
    std::error_code error;
    if (steps < oldest) fs::rename(each, going, error);  // first: what a kill leaves is removed by the next run
    if (steps < oldest && !error) fs::remove_all(going, error);
  }
}

namespace {

namespace fs = std::filesystem;

struct LaterWork {
  std::int64_t kept = 0;              ///< steps of the newest checkpoint that remains; 0: none
  std::vector<fs::path> checkpoints;  ///< newest first
  std::int64_t rows = 0;              ///< of metrics.csv, if none of them belongs to this run
};

bool resumes_latest(const Run& run) {
  return run.resume == "latest";
}

/// Whether the run continues the training of this folder: from one of its checkpoints, or from `latest`.
bool continues(const Run& run, const fs::path& folder) {
  if (!run.resume || resumes_latest(run)) return run.resume.has_value();
  std::error_code absent;
  const fs::path resumed = fs::canonical(*run.resume, absent);
  return !absent && steps_of_name(resumed) && fs::equivalent(resumed.parent_path(), folder, absent);
}

LaterWork later_work(const Run& run, std::int64_t steps) {
  const fs::path& folder = *run.checkpoint.folder;
  LaterWork later;
  const bool goes_on = continues(run, folder);
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

void require_no_later_work(const Run& run, std::int64_t steps) {
  if (resumes_latest(run)) return;
  const LaterWork later = later_work(run, steps);
  const std::string names = names_of(later);
  if (names.empty()) return;
  throw InputError(run.checkpoint.folder->string() + ": holds " + names + ", but this run starts " +
                   (steps == 0 ? "at step 0" : "after step " + std::to_string(steps)) +
                   " and would replace them. --resume latest continues them; another folder (--checkpoint DIR) keeps "
                   "them; --discard-later renames them to step-N.discarded");
}

void discard_later_work(const Run& run, std::int64_t steps) {
  const fs::path& folder = *run.checkpoint.folder;
  const fs::path metrics = folder / metrics_file_name;
  const LaterWork later = later_work(run, steps);
  if (names_of(later).empty()) return;
  // A copy: a resumed run keeps the rows before its start.
  if (!resumes_latest(run) && metrics_rows(folder) > 0)
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
