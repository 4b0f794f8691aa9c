// SPDX-License-Identifier: BSD-3-Clause
// A sweep's output folder. Results are stored per case, so that stopping loses at most the running ones.
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

/// Removes the contents of a folder without results, and the folder unless it existed before.
void release_folder(const std::filesystem::path& folder, bool was_there);

/// <folder>/
///   sweep.json                 plan and input digest
///   references/<id>/           run records
///   cells/<id>/                run records, and cell.json: the case's verdict, written last
///   repeats/<id>/              records of second runs (R0)
///   replays/<id>/              records of the reference that replay the norms of a case ({norms_from})
///   dumps/<id>/, again/<id>/   records of a failing case's second run: at level dump, or as before
///   calibrations/<id>/         of the mode calibrated; references/<id> then points to the record in it
///   launches/<id>/             run.toml, command.txt, stdout.txt, stderr.txt and finding.json of each run;
///                              checkpoints of begun-<id>, the first segment of a run
///   verdict.json, junit.xml, results.csv, report.html
class SweepFolder {
 public:
  /// Creates the folder, or resumes in it if `resume` is set and the input digest is unchanged; stores `plan` in its
  /// sweep.json. Removes verdicts of another judge and modified ones; keeps their inputs. Throws InputError if it has
  /// other contents or is in use.
  SweepFolder(const std::filesystem::path& path, const std::string& name, const SweepFingerprint& fingerprint,
              bool resume, const Json& plan);
  /// Throws as the function above if the folder is not available, without creating or locking it.
  static void refuse_unless_usable(const std::filesystem::path& path, const SweepFingerprint& fingerprint, bool resume);
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
  /// Whether the case's verdict is on the disk.
  bool keeps_cell(const std::string& id) const;

  /// Undoes the constructor, except that the folder stays locked.
  void discard() const { release_folder(path_, was_there_); }
  /// Reasons why verdicts of an earlier run were discarded, one line each.
  const std::vector<std::string>& forgotten() const { return forgotten_; }
  /// The verdict of an earlier run of this sweep; nullopt if it was not finished. Throws InputError if the file was
  /// modified or belongs to another case.
  std::optional<CellVerdict> finished_cell(const std::string& id) const;
  std::optional<LaunchFinding> finished_launch(const std::string& id) const;
  /// The reference's run that replayed the norms of this case; nullopt if it was not made or its record was removed.
  std::optional<LaunchFinding> finished_replay(const std::string& id) const;
  /// Removes that run, because the candidate runs again.
  void forget_replay(const std::string& id) const;
  /// Writes sweep.json, which marks the folder as a sweep.
  static void write_sweep(const std::filesystem::path& path, const std::string& name,
                          const SweepFingerprint& fingerprint, const std::string& started, const Json& plan);
  void keep_cell(const CellVerdict& cell) const;

 private:
  void forget_verdicts(bool all);

  std::filesystem::path path_;
  std::string started_;
  std::vector<std::string> forgotten_;
  bool was_there_ = false;
  std::optional<FolderLock> lock_;
};

/// Prepares a run: removes what an interrupted one left of this record and creates an empty launch folder.
void make_way(const std::filesystem::path& record, const std::filesystem::path& launch);

/// reports/runs/<date>-<time>-<name> in the working folder; does not exist yet.
std::filesystem::path new_run_folder(const std::string& name);
/// Points `latest`, next to `folder`, to it.
void point_latest_to(const std::filesystem::path& folder);

/// A verdict with a digest, to be used later without its record: the digest detects damaged or edited files.
void write_kept_verdict(const std::filesystem::path& path, const Verdict& verdict);
/// Throws InputError if the file has no verdict or was modified.
Verdict read_kept_verdict(const std::filesystem::path& path);

}  // namespace plumbline
