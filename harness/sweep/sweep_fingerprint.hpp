// SPDX-License-Identifier: BSD-3-Clause
// Everything that could change what a sweep finds: a finished cell is kept only where all of it is as it was.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_inputs.hpp"
#include "support/json.hpp"

namespace plumbline {

struct SweepFingerprint {
  /// Of what all runs share, by what a person calls it: "the trainers", "the trainers' libraries", "the launcher", "the
  /// machine's processor", "the environment", "device or tier".
  std::map<std::string, std::string> shared;
  /// Of each reference ("reference-<id>") and cell (its id): run file, model, weights, data, schedule, checks.
  std::map<std::string, std::string> runs;
  std::string judge;  ///< of the program that judges: another one judges the same records again
};

/// Starts nothing but ldd. `trainers`: their folder; modules (*.so) in it count too. A library or weights file above 64
/// MiB stands by its size and time of change. `inputs`: gets the files that all this was read from, those held that no
/// run itself may write.
SweepFingerprint fingerprint_of(const SweepFile& sweep, const SweepPlan& plan, const std::filesystem::path& trainers,
                                const std::string& judge, SweepInputs& inputs);

Json to_json(const SweepFingerprint& fingerprint);
/// Throws InputError naming the file.
SweepFingerprint read_fingerprint(const Json& json, const std::filesystem::path& file);

/// What of `now` is not as in `kept`, for people; nothing where all is. Runs that only one of them has are no change.
std::optional<std::string> changed_since(const SweepFingerprint& kept, const SweepFingerprint& now);

}  // namespace plumbline
