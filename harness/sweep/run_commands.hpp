// SPDX-License-Identifier: BSD-3-Clause
// The commands of a sweep's runs: a user's own, or the built-in templates of Plumbline's two trainers. From here on
// both are started in the same way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/launch/launch.hpp"
#include "harness/sweep/planned_run.hpp"

namespace plumbline {

inline constexpr const char* reference_program = "plumbline-reference";
inline constexpr const char* pipeline_program = "plumbline-pipeline";

/// The reference's option if none of its cases splits the backward pass.
inline constexpr const char* without_split_backward = "--without-split-backward";

/// Help text of the option --trainers.
std::string trainers_help();

/// Words of a command template with {world} filled in.
std::vector<std::string> launcher_words(const std::string& launcher, std::int64_t world);

class RunCommands {
 public:
  /// `programs`: the folder of both trainers.
  RunCommands(const SweepFile& file, std::filesystem::path programs) : file_(file), programs_(std::move(programs)) {}

  /// For a launch in folder `place`.
  PlannedCommand of(const PlannedReference& reference, const std::filesystem::path& place) const;
  PlannedCommand of(const PlannedCell& cell, const std::filesystem::path& place) const;
  /// The run whose checkpoint a resumed case continues.
  PlannedCommand first_segment_of(const PlannedCell& cell, const std::filesystem::path& place) const;

  /// The template of the reference with this run file's text.
  PlannedCommand reference(const std::string& run) const;

  /// Fills in the command and writes its files into `place`, with its text for a shell as command.txt. `slots`: GPUs
  /// among the visible ones, for a command that trains on them; empty = all.
  Launch launch(PlannedCommand command, const std::filesystem::path& place, const std::filesystem::path& record,
                const std::vector<std::int64_t>& slots = {}) const;

 private:
  PlannedCommand pipeline(const std::string& run, std::int64_t ranks) const;
  PlannedCommand built_in(const char* trainer, const std::string& run, std::int64_t ranks) const;

  const SweepFile& file_;
  std::filesystem::path programs_;
};

/// The same run at another record level.
PlannedReference at_level(PlannedReference reference, const std::string& level);
PlannedCell at_level(PlannedCell cell, const std::string& level);

/// The run of a user's reference that clips by the norms of this record, given to it as {norms_from}.
PlannedReference replaying(PlannedReference reference, const std::filesystem::path& record);

/// The question whether the trainer of this command can start it here: with `--check --json`, on no rank. Only for
/// Plumbline's trainers.
PlannedCommand question_of(PlannedCommand command);

/// Replaces the copy's path by the user's run file, without its line numbers, which differ; prepends the file if the
/// message does not name it.
std::string with_original(std::string words, const std::filesystem::path& copy, const std::filesystem::path& original);

}  // namespace plumbline
