// SPDX-License-Identifier: BSD-3-Clause
// The folder with a run's checkpoints: step-00000200/ and so on, and the link `latest` to the newest complete one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "training/run.hpp"

namespace plumbline {

/// Path of the checkpoint after this many steps.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, std::int64_t steps);
/// The number in the name of such a folder, or of one that a link points to; nullopt for other names.
std::optional<std::int64_t> steps_of_name(const std::filesystem::path& checkpoint);
/// Path at which it is written until it is complete.
std::filesystem::path partial_path(const std::filesystem::path& folder, std::int64_t steps);
/// Candidates, newest first: each folder with a checkpoint's name, complete or not, and the target of `latest`, even if
/// it does not exist.
std::vector<std::filesystem::path> all_checkpoints(const std::filesystem::path& folder);
/// Complete checkpoints, newest first.
std::vector<std::filesystem::path> whole_checkpoints(const std::filesystem::path& folder);

/// Renames a complete checkpoint to its final name and moves `latest` to it, each atomically. Throws SystemError.
void publish_checkpoint(const std::filesystem::path& folder, std::int64_t steps);
/// Points `latest` at a checkpoint. Throws SystemError.
void point_latest_at(const std::filesystem::path& checkpoint);
/// Removes incomplete checkpoints and temporary files of an ended run.
void remove_partial_checkpoints(const std::filesystem::path& folder);
/// Removes all checkpoints older than the `keep` newest complete ones.
void prune_checkpoints(const std::filesystem::path& folder, std::int64_t keep);

/// For a run that starts after `steps` steps (0: a new training) and saves in [checkpoint] folder. Throws InputError
/// naming later checkpoints. Checkpoints before the start remain only if the run resumes from one of this folder.
/// Nothing is later than --resume latest, which skips only damaged checkpoints.
void require_no_later_work(const Run& run, std::int64_t steps);

/// The same with --discard-later: renames what is later, "step-N.discarded", and points `latest` at the checkpoint that
/// the run resumes from. Renames also what --resume latest skipped. Throws SystemError.
void discard_later_work(const Run& run, std::int64_t steps);

}  // namespace plumbline
