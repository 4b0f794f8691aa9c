// SPDX-License-Identifier: BSD-3-Clause
// A sweep's output folder. Results are stored per case, so that stopping loses at most the running ones.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/planned_run.hpp"
#include "record/launch_finding.hpp"
#include "support/folder_lock.hpp"

namespace plumbline {

/// Removes the contents of a folder without results, and the folder unless it existed before.
void release_folder(const std::filesystem::path& folder, bool was_there);

/// A run is whole if its finding.json is there and its inputs.json is what the run would be made from now. All that
/// continues a sweep or merges its parts keeps whole runs, and makes others again.
/// <folder>/
///   sweep.json                 the plan
///   references/<id>/           run records
///   cells/<id>/                run records, and cell.json: the case's verdict, written last
///   repeats/<id>/              records of second runs
///   replays/<id>/              records of the reference that replay the norms of a case ({norms_from})
///   dumps/<id>/, again/<id>/   records of a failing case's second run: at level dump, or as before
///   calibrations/<id>/         of the mode calibrated; references/<id> then points to the record in it
///   launches/<id>/             inputs.json, run.toml, command.txt, stdout.txt, stderr.txt of each run, and
///                              finding.json, written last; checkpoints of begun-<id>, the first segment of a run
///   verdict.json, junit.xml, results.csv, report.html
class SweepFolder {
 public:
  /// Creates the folder, or continues in it if `resume` is set, and writes its sweep.json. Throws InputError if it has
  /// other contents or is in use.
  SweepFolder(const std::filesystem::path& path, const std::string& name, const Json& plan, bool resume);
  /// Throws as the function above if the folder is not available, without creating or locking it.
  static void refuse_unless_usable(const std::filesystem::path& path, bool resume);
  /// Opens an existing sweep.
  explicit SweepFolder(const std::filesystem::path& path);
  SweepFolder(const SweepFolder&) = delete;
  SweepFolder& operator=(const SweepFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::string& started() const { return started_; }  ///< RFC 3339
  std::filesystem::path reference(const std::string& id) const { return path_ / "references" / id; }
  std::filesystem::path cell(const std::string& id) const { return path_ / "cells" / id; }
  std::filesystem::path repeat(const std::string& id) const { return path_ / "repeats" / id; }
  std::filesystem::path replay(const std::string& id) const { return path_ / "replays" / id; }
  std::filesystem::path dump(const std::string& id) const { return path_ / "dumps" / id; }
  std::filesystem::path again(const std::string& id) const { return path_ / "again" / id; }
  std::filesystem::path calibration(const std::string& id) const { return path_ / "calibrations" / id; }
  std::filesystem::path launch(const std::string& id) const { return path_ / "launches" / id; }

  /// False if the sweep was removed from the disk.
  bool is_there() const;
  /// Undoes the constructor, except that the folder stays locked.
  void discard() const { release_folder(path_, was_there_); }

  /// The inputs of a launch; empty if it did not happen, or if they are unreadable.
  RunInputs inputs_of(const std::string& launch) const;
  /// The finding of a launch that ended; nullopt if it was interrupted, or if that cannot be read.
  std::optional<LaunchFinding> finished_launch(const std::string& id) const;
  /// The same of a whole run.
  std::optional<LaunchFinding> whole_launch(const std::string& id, const RunInputs& inputs) const;
  /// The reference's run that replayed the norms of this case; nullopt if it was not made or its record was removed.
  std::optional<LaunchFinding> finished_replay(const std::string& id) const;

  /// Removes all of a reference or a case: records, verdict, and launches, also of its further runs.
  void forget_reference(const std::string& id) const;
  void forget_cell(const std::string& id) const;
  /// Removes the records of a case and keeps its verdict. Without its finding the run counts as incomplete.
  void remove_records(const std::string& id) const;

  /// Writes sweep.json, which marks the folder as a sweep.
  static void write_sweep(const std::filesystem::path& path, const std::string& name, const std::string& started,
                          const Json& plan);

 private:
  std::filesystem::path path_;
  std::string started_;
  bool was_there_ = false;
  std::optional<FolderLock> lock_;
};

/// Prepares a run: removes what an interrupted one left of this record and creates its launch folder with inputs.json.
void make_way(const std::filesystem::path& record, const std::filesystem::path& launch, const RunInputs& inputs);

/// reports/runs/<date>-<time>-<name> in the working folder; does not exist yet.
std::filesystem::path new_run_folder(const std::string& name);
/// Points `latest`, next to `folder`, to it.
void point_latest_to(const std::filesystem::path& folder);

}  // namespace plumbline
