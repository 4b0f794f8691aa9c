// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_folder.hpp"

#include <unistd.h>

#include <ctime>

#include "record/json_keys.hpp"
#include "record/writer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const std::string sweep_schema = "plumbline-sweep/1";

void remove_folder(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw SystemError(path.string() + ": cannot be removed: " + error.message());
}

std::string started_in(const fs::path& file, const Json& json) {
  const JsonKeys kept(file, json);
  if (kept.text("schema") != sweep_schema) throw InputError(file.string() + ": was not written by this program");
  return kept.text("started");
}

constexpr const char* inputs_name = "inputs.json";

}  // namespace

SweepFolder::SweepFolder(const fs::path& path) : path_(path) {
  const fs::path file = path / "sweep.json";
  if (!path_exists(file)) throw InputError(path.string() + ": is not the folder of a sweep (sweep.json is missing)");
  lock_.emplace(path);
  started_ = started_in(file, read_json(file));
}

void SweepFolder::refuse_unless_usable(const fs::path& path, bool resume) {
  const bool is_there = path_exists(path);
  if (is_there && !folder_exists(path)) throw InputError(path.string() + ": is not a folder; choose another --out");
  const bool holds_sweep = is_there && path_exists(path / "sweep.json");
  if (!is_there || (holds_sweep && resume) || fs::is_empty(path)) return;
  throw InputError(path.string() +
                   (holds_sweep ? ": already contains a sweep; add --resume to continue it, or"
                                : ": already contains files, but not a sweep;") +
                   " choose another --out. Nothing was overwritten.");
}

SweepFolder::SweepFolder(const fs::path& path, const std::string& name, const Json& plan, bool resume)
    : path_(path), started_(now_text()) {
  refuse_unless_usable(path, resume);
  was_there_ = path_exists(path);
  make_folder(path);
  lock_.emplace(path);
  const fs::path file = path / "sweep.json";
  if (path_exists(file)) started_ = started_in(file, read_json(file));
  write_sweep(path, name, started_, plan);
}

void SweepFolder::write_sweep(const fs::path& path, const std::string& name, const std::string& started,
                              const Json& plan) {
  write_json(path / "sweep.json", {{"schema", sweep_schema}, {"name", name}, {"started", started}, {"plan", plan}});
}

bool SweepFolder::is_there() const {
  return path_exists(path_ / "sweep.json");
}

RunInputs SweepFolder::inputs_of(const std::string& id) const {
  try {
    return read_json(launch(id) / inputs_name).get<RunInputs>();
  } catch (const std::exception&) {
    return {};
  }
}

std::optional<LaunchFinding> SweepFolder::finished_launch(const std::string& id) const {
  try {
    const LaunchFinding finding = read_launch_finding(launch(id) / "finding.json");
    return finding.interrupted ? std::nullopt : std::optional(finding);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::optional<LaunchFinding> SweepFolder::whole_launch(const std::string& id, const RunInputs& inputs) const {
  return inputs_of(id) == inputs ? finished_launch(id) : std::nullopt;
}

std::optional<LaunchFinding> SweepFolder::finished_replay(const std::string& id) const {
  const auto finding = finished_launch("replay-" + id);
  const bool lost = finding && finding->ended_well() && !path_exists(replay(id));
  return lost ? std::nullopt : finding;
}

void SweepFolder::forget_reference(const std::string& id) const {
  for (const char* run : {"reference-", "dump-reference-", "calibration-"}) remove_folder(launch(run + id));
  for (const fs::path& record : {reference(id), dump("reference-" + id), calibration(id)}) remove_folder(record);
}

void SweepFolder::forget_cell(const std::string& id) const {
  for (const char* run : {"", "begun-", "repeat-", "begun-repeat-", "replay-", "dump-", "dump-replay-", "again-"})
    remove_folder(launch(run + id));
  for (const fs::path& record : {cell(id), repeat(id), replay(id), dump(id), dump("replay-" + id), again(id)})
    remove_folder(record);
}

void SweepFolder::remove_records(const std::string& id) const {
  for (const char* run : {"", "repeat-", "replay-"}) remove_folder(launch(run + id) / "finding.json");
  std::error_code none;
  for (const auto& part : std::vector<fs::directory_entry>(fs::directory_iterator(cell(id), none), {})) {
    if (part.path().filename() != "cell.json") remove_folder(part.path());
  }
  for (const fs::path& record : {repeat(id), replay(id)}) remove_folder(record);
}

void release_folder(const fs::path& folder, bool was_there) {
  std::error_code ignored;
  const std::vector<fs::directory_entry> made(fs::directory_iterator(folder, ignored), {});
  for (const auto& entry : made) fs::remove_all(entry.path(), ignored);
  if (!was_there) fs::remove(folder, ignored);
}

void make_way(const fs::path& record, const fs::path& launch, const RunInputs& inputs) {
  remove_folder(launch);  // first, because its finding marks the record as complete
  remove_folder(record);
  make_folder(record.parent_path());
  make_folder(launch);
  write_json(launch / inputs_name, inputs);
}

fs::path new_run_folder(const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char time[32];
  std::strftime(time, sizeof time, "%Y-%m-%d-%H%M%S-", &local);
  const fs::path first = fs::path("reports") / "runs" / (time + name);
  fs::path path = first;
  for (int number = 2; fs::exists(path); ++number) path = first.string() + "-" + std::to_string(number);
  return path;
}

void point_latest_to(const fs::path& folder) {
  const fs::path link = folder.parent_path() / "latest";
  const fs::path fresh = folder.parent_path() / (".latest-" + std::to_string(getpid()));
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_symlink(folder.filename(), fresh, error);
  if (!error) fs::rename(fresh, link, error);
  if (error) throw SystemError(link.string() + ": cannot be pointed to " + folder.string() + ": " + error.message());
}

}  // namespace plumbline
