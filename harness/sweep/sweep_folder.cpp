// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_folder.hpp"

#include <unistd.h>

#include <ctime>

#include "record/json_keys.hpp"
#include "record/writer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const std::string sweep_schema = "plumbline-sweep/1";

void remove_folder(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw SystemError(path.string() + ": what an interrupted run left cannot be removed: " + error.message());
}

struct KeptFacts {
  SweepFingerprint fingerprint;
  std::string started;
};

std::string started_in(const fs::path& file, const Json& json) {
  const JsonKeys kept(file, json);
  if (kept.text("schema") != sweep_schema) throw InputError(file.string() + ": is not as this program writes it");
  return kept.text("started");
}

KeptFacts read_sweep(const fs::path& file) {
  const Json json = read_json(file);
  const std::string started = started_in(file, json);
  return {read_fingerprint(json, file), started};
}

constexpr const char* digest_key = "digest";

}  // namespace

SweepFolder::SweepFolder(const fs::path& path) : path_(path) {
  const fs::path file = path / "sweep.json";
  if (!path_exists(file)) throw InputError(path.string() + ": holds no sweep (it has no sweep.json)");
  lock_.emplace(path);
  started_ = started_in(file, read_json(file));
}

void SweepFolder::refuse_unless_usable(const fs::path& path, const SweepFingerprint& fingerprint, bool resume) {
  const bool is_there = path_exists(path);
  if (is_there && !folder_exists(path)) throw InputError(path.string() + ": is not a folder; choose another --out");
  const bool holds_sweep = is_there && path_exists(path / "sweep.json");
  if (resume && !holds_sweep) {
    throw InputError(path.string() + ": holds no sweep to resume; omit --resume to start one");
  }
  if (!resume && is_there && !fs::is_empty(path)) {
    throw InputError(
        path.string() +
        (holds_sweep ? ": already holds a sweep; add --resume to continue it, or" : ": already holds files;") +
        " choose another --out. Nothing was overwritten.");
  }
  if (!resume) return;
  const auto kept = read_sweep(path / "sweep.json");
  if (const auto changed = changed_since(kept.fingerprint, fingerprint)) {
    throw InputError(path.string() + ": holds results of another sweep: " + *changed +
                     " since; choose another --out. Nothing was overwritten.");
  }
}

SweepFolder::SweepFolder(const fs::path& path, const std::string& name, const SweepFingerprint& fingerprint,
                         bool resume, const Json& plan)
    : path_(path), started_(now_text()) {
  refuse_unless_usable(path, fingerprint, resume);
  was_there_ = path_exists(path);
  make_folder(path);
  lock_.emplace(path);
  SweepFingerprint all = fingerprint;
  if (resume) {
    const auto kept = read_sweep(path / "sweep.json");
    started_ = kept.started;
    all.runs.insert(kept.fingerprint.runs.begin(), kept.fingerprint.runs.end());  // cases of another selection
    forget_verdicts(kept.fingerprint.judge != fingerprint.judge);
  }
  write_sweep(path, name, all, started_, plan);
}

void SweepFolder::write_sweep(const fs::path& path, const std::string& name, const SweepFingerprint& fingerprint,
                              const std::string& started, const Json& plan) {
  write_json(path / "sweep.json", {{"schema", sweep_schema},
                                   {"name", name},
                                   {"fingerprint", to_json(fingerprint)},
                                   {"started", started},
                                   {"plan", plan}});
}

void SweepFolder::forget_verdicts(bool all) {
  std::error_code none;
  for (const auto& folder : fs::directory_iterator(path_ / "cells", none)) {
    const fs::path file = folder.path() / "cell.json";
    if (!path_exists(file)) continue;
    if (!all) {
      try {
        finished_cell(folder.path().filename().string());
        continue;
      } catch (const InputError& error) {
        forgotten_.emplace_back(error.what());
      }
    }
    std::error_code error;
    fs::remove(file, error);
    if (error) throw SystemError(file.string() + ": cannot be removed: " + error.message());
  }
}

bool SweepFolder::is_there() const {
  return path_exists(path_ / "sweep.json");
}

bool SweepFolder::keeps_cell(const std::string& id) const {
  return path_exists(cell(id) / "cell.json");
}

std::optional<CellVerdict> SweepFolder::finished_cell(const std::string& id) const {
  const fs::path file = cell(id) / "cell.json";
  if (!keeps_cell(id)) return std::nullopt;
  const Verdict kept = read_kept_verdict(file);
  if (kept.cells.size() != 1 || kept.cells.front().id != id)
    throw InputError(file.string() + ": does not hold the verdict on " + id);
  return kept.cells.front();
}

void SweepFolder::keep_cell(const CellVerdict& verdict) const {
  Verdict kept;
  kept.holds = verdict.holds;
  kept.name = verdict.id;
  kept.started = started_;
  kept.cells = {verdict};
  kept.machine = Json::object();
  make_folder(cell(verdict.id));  // a run that never started has no folder
  write_kept_verdict(cell(verdict.id) / "cell.json", kept);
}

std::optional<LaunchFinding> SweepFolder::finished_launch(const std::string& id) const {
  const fs::path file = launch(id) / "finding.json";
  if (!path_exists(file)) return std::nullopt;
  const LaunchFinding finding = read_launch_finding(file);
  return finding.interrupted ? std::nullopt : std::optional(finding);
}

std::optional<LaunchFinding> SweepFolder::finished_replay(const std::string& id) const {
  const auto finding = finished_launch("replay-" + id);
  const bool lost = finding && finding->ended_well() && !path_exists(replay(id));
  return lost ? std::nullopt : finding;
}

void SweepFolder::forget_replay(const std::string& id) const {
  remove_folder(launch("replay-" + id));
  remove_folder(replay(id));
}

void release_folder(const fs::path& folder, bool was_there) {
  std::error_code ignored;
  const std::vector<fs::directory_entry> made(fs::directory_iterator(folder, ignored), {});
  for (const auto& entry : made) fs::remove_all(entry.path(), ignored);
  if (!was_there) fs::remove(folder, ignored);
}

void make_way(const fs::path& record, const fs::path& launch) {
  remove_folder(launch);  // first, because its finding marks the record as complete
  remove_folder(record);
  make_folder(record.parent_path());
  make_folder(launch);
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

void write_kept_verdict(const std::filesystem::path& path, const Verdict& verdict) {
  Json kept = to_json(verdict);
  const std::string digest = hash_hex(kept.dump());
  kept[digest_key] = digest;
  write_json(path, kept);
}

Verdict read_kept_verdict(const std::filesystem::path& path) {
  Json kept = read_json(path, most_of_json, JsonTexts::as_written);
  const Json digest = kept.is_object() ? kept.value(digest_key, Json()) : Json();
  if (digest.is_string()) kept.erase(digest_key);
  if (digest != Json(hash_hex(kept.dump()))) throw InputError(path.string() + ": is not as this program wrote it");
  return read_verdict(path);
}

}  // namespace plumbline
