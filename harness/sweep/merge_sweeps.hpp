// SPDX-License-Identifier: BSD-3-Clause
// `plumbline merge DIR...`: merges the shards of a sweep, so that they are judged as one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

/// Copies the runs of all shards into `out`, a new folder that `judge_again` then accepts; of a run in several shards,
/// the first one's. Returns the cases of the sweep file that no shard has. Throws InputError: fewer than two shards,
/// one that is not a sweep or is in use, shards of different sweep files, a run in two shards with different inputs, an
/// existing `out`; SystemError if it cannot be written.
std::vector<std::string> merge_sweeps(const std::vector<std::filesystem::path>& parts,
                                      const std::filesystem::path& out);

}  // namespace plumbline
