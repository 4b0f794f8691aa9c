// SPDX-License-Identifier: BSD-3-Clause
// The folder that a run's checkpoints lie in: step-00000200/ and so on, and `latest`, which points to the newest whole
// one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace plumbline {

/// Where the checkpoint after this many steps lies.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder, std::int64_t steps);
/// Where it is written until it is whole.
std::filesystem::path partial_path(const std::filesystem::path& folder, std::int64_t steps);
/// Those that there are or were, the newest first: each folder with a checkpoint's name, whole or not, and what
/// `latest` points to, though it be gone.
std::vector<std::filesystem::path> all_checkpoints(const std::filesystem::path& folder);
/// Whole ones, the newest first.
std::vector<std::filesystem::path> whole_checkpoints(const std::filesystem::path& folder);

/// Gives a checkpoint its name and lets `latest` point to it, each in one moment, so that a reader sees all of it or
/// none. Throws SystemError.
void publish_checkpoint(const std::filesystem::path& folder, std::int64_t steps);
/// The link beside the checkpoint that names the newest. Throws SystemError.
void point_latest_at(const std::filesystem::path& checkpoint);
/// Removes what a run that was ended left half written, checkpoints and files of its own.
void remove_partial_checkpoints(const std::filesystem::path& folder);
/// Removes whole checkpoints but the `keep` newest.
void prune_checkpoints(const std::filesystem::path& folder, std::int64_t keep);

}  // namespace plumbline
