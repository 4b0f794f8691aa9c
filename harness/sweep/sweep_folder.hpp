// SPDX-License-Identifier: BSD-3-Clause
// Where a sweep keeps what it made, cell by cell, so that stopping it loses at most the cell it was at.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/sweep_fingerprint.hpp"
#include "record/launch_finding.hpp"
#include "record/verdict.hpp"
#include "support/folder_lock.hpp"

namespace plumbline {

/// <folder>/
///   sweep.json                 whose results these are
///   references/<id>/           run records
///   cells/<id>/                run records, and cell.json: the cell's verdict, written last
///   repeats/<id>/              records of the second runs (R0)
///   dumps/<id>/, again/<id>/   records of a failing cell's second run: at level dump, to localise it, or as before
///   calibrations/<id>/         of the calibrated tier; references/<id> then points to the record in it
///   launches/<id>/             of begun-<id>, a run's first part, checkpoints too; of all run.toml, command.txt,
///   stdout.txt, stderr.txt, finding.json of each run verdict.json, junit.xml, results.csv, report.html
class SweepFolder {
 public:
  /// Makes the folder, or goes on in it when `resume` and nothing of this fingerprint has changed since; `plan` is kept
  /// in its sweep.json. Verdicts of another judge go, and those that are not as they were written; what they were given
  /// on stays. Throws InputError: it holds anything else, or another plumbline works in it.
  SweepFolder(const std::filesystem::path& path, const std::string& name, const SweepFingerprint& fingerprint,
              bool resume, const Json& plan);
  /// What the one above throws of a folder that is not free, without making or taking it.
  static void refuse_unless_usable(const std::filesystem::path& path, const SweepFingerprint& fingerprint, bool resume);
  /// A sweep that is there already, whoever made it.
  explicit SweepFolder(const std::filesystem::path& path);
  SweepFolder(const SweepFolder&) = delete;
  SweepFolder& operator=(const SweepFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  const std::string& started() const { return started_; }  ///< RFC 3339
  std::filesystem::path reference(const std::string& id) const { return path_ / "references" / id; }
  std::filesystem::path cell(const std::string& id) const { return path_ / "cells" / id; }
  std::filesystem::path repeat(const std::string& id) const { return path_ / "repeats" / id; }
  std::filesystem::path dump(const std::string& id) const { return path_ / "dumps" / id; }
  std::filesystem::path again(const std::string& id) const { return path_ / "again" / id; }
  std::filesystem::path calibration(const std::string& id) const { return path_ / "calibrations" / id; }
  std::filesystem::path launch(const std::string& id) const { return path_ / "launches" / id; }

  /// Leaves the place as it was found: free, and the folder there only where somebody else had made it.
  void discard() const;
  /// Why verdicts of an earlier run are not believed, a line for each.
  const std::vector<std::string>& forgotten() const { return forgotten_; }
  /// What an earlier run of this sweep has finished; nothing when it has not, or was interrupted. Throws InputError:
  /// the file is not as it was written, or is another cell's.
  std::optional<CellVerdict> finished_cell(const std::string& id) const;
  std::optional<LaunchFinding> finished_reference(const std::string& id) const;
  std::optional<LaunchFinding> finished_launch(const std::string& id) const;
  /// Its sweep.json: from then on the folder is a sweep's.
  static void write_sweep(const std::filesystem::path& path, const std::string& name,
                          const SweepFingerprint& fingerprint, const std::string& started, const Json& plan);
  void keep_cell(const CellVerdict& cell) const;
  void keep_reference(const std::string& id, const LaunchFinding& finding) const;
  /// Clears the way for a run: what an interrupted one left of this record goes, its launch folder is there and empty.
  void make_way(const std::filesystem::path& record, const std::filesystem::path& launch) const;

 private:
  void forget_verdicts(bool all);

  std::filesystem::path path_;
  std::string started_;
  std::vector<std::string> forgotten_;
  bool was_there_ = false;
  std::optional<FolderLock> lock_;
};

/// reports/runs/<date>-<time>-<name> below the working folder, not there yet.
std::filesystem::path new_run_folder(const std::string& name);
/// Points `latest` beside `folder` to it.
void point_latest_to(const std::filesystem::path& folder);

}  // namespace plumbline
