// SPDX-License-Identifier: BSD-3-Clause
// Parts of the ids of a sweep's cases, and what distinguishes a case in words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/sweep/sweep_file.hpp"

namespace plumbline {

/// Id of a training: "<run>[-<optimizer>][-half][-lengths-<hash>][-dump]".
std::string training_id(const std::string& run, const RunChanges& changes);

/// For a file, its name.
std::string schedule_name(const std::string& schedule);

/// A case's other changes than optimiser and balance, in words.
std::string variant_of(const ExtraCell& cell);

/// "4-0-4".
std::string numbers_text(const std::vector<std::int64_t>& numbers);

/// The run file's key `name`, else "a" for x/a.toml, as a part of an id.
std::string own_name(const std::filesystem::path& run);

/// own_name() of each run file of the sweep; if several share it, prefixed by as many parent folders as necessary:
/// "x-a".
std::map<std::filesystem::path, std::string> names_of_runs(const SweepFile& sweep);

}  // namespace plumbline
