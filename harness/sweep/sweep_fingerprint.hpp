// SPDX-License-Identifier: BSD-3-Clause
// The input files of a sweep, which must not change while it runs, and the input digest: everything that can change its
// results. A finished case is reused only if all of it is unchanged.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "support/json.hpp"

namespace plumbline {

/// Hash of a file's bytes; above 64 MiB, of its size and modification time; for a folder, of its files (a model in
/// several). "missing" if it cannot be read.
std::string file_hash(const std::filesystem::path& path);

class SweepInputs {
 public:
  /// Cached file_hash; "missing" if it cannot be read.
  const std::string& hash_of(const std::filesystem::path& file);
  /// The same, and from now on the file must not change.
  const std::string& held_hash_of(const std::filesystem::path& file);
  /// Throws SystemError naming the first such file that has changed or is gone. Files with the same size, modification
  /// time and inode are not read. Thread-safe.
  void require_unchanged() const;

 private:
  struct Known {
    std::set<std::string> stamp;
    std::string hash;
    bool held = false;
  };
  Known& known(const std::filesystem::path& file);
  std::map<std::filesystem::path, Known> known_;
};

struct SweepFingerprint {
  /// Shared by all runs, by displayed name: "the trainers", "the trainers' libraries", "the launcher", "the machine's
  /// processor", "the environment", "device or comparison_mode".
  std::map<std::string, std::string> shared;
  /// For each reference ("reference-<id>") and case (its id): run file, model, weights, data, schedule, checks.
  std::map<std::string, std::string> runs;
  /// Of the judging program, and what it accepts as missing: another one judges the same records again.
  std::string judge;
};

/// Starts only ldd. `trainers`: their folder, including modules (*.so). Libraries and weights files above 64 MiB are
/// identified by size and modification time. `inputs`: receives the files read; those that no run writes are fixed.
SweepFingerprint fingerprint_of(const SweepFile& sweep, const SweepPlan& plan, const std::filesystem::path& trainers,
                                const std::string& judge, SweepInputs& inputs);

Json to_json(const SweepFingerprint& fingerprint);
/// Throws InputError naming the file.
SweepFingerprint read_fingerprint(const Json& json, const std::filesystem::path& file);

/// The differences between `kept` and `now`, in words; empty if there are none. A run that only one of them has is no
/// difference.
std::optional<std::string> changed_since(const SweepFingerprint& kept, const SweepFingerprint& now);

}  // namespace plumbline
