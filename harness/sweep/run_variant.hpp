// SPDX-License-Identifier: BSD-3-Clause
// The text of a user's run file with a case's changes, as given to the trainers. The trainers, not the harness,
// validate the rest of it.
#pragma once

#include <filesystem>
#include <string>

#include "harness/sweep/sweep_file.hpp"

namespace plumbline {

/// TOML texts for a file in `folder`: paths in them are relative to it. The optimizer's own keys are removed if another
/// one is requested. `schedule`: a name, or a CSV file's path from here. The reference's text has no [pipeline] table,
/// so that all cases of the same training share it. Throw InputError naming the file: not
/// readable, not TOML.
std::string reference_run(const std::filesystem::path& run, const RunChanges& changes,
                          const std::filesystem::path& folder);
std::string pipeline_run(const std::filesystem::path& run, const RunChanges& changes, const std::string& schedule,
                         const std::filesystem::path& folder);
/// For the user to start: keeps the [pipeline] table.
std::string candidate_run(const std::filesystem::path& run, const RunChanges& changes,
                          const std::filesystem::path& folder);

}  // namespace plumbline
