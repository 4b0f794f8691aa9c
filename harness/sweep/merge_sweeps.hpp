// SPDX-License-Identifier: BSD-3-Clause
// `plumbline merge DIR...`: merges the shards of a sweep, so that they are judged as one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

/// Copies the contents of all shards into `out`, a new folder that `judge_again` then accepts. If several shards have
/// run a reference, the first one's record is taken: all had the same inputs. Returns the cases of the sweep file that
/// no shard has. Throws InputError: fewer than two shards, one that is no sweep or is in use, shards of different sweep
/// files, judges, programs, machines or inputs, a case in two shards, an existing `out`; SystemError if it cannot be
/// written.
std::vector<std::string> merge_sweeps(const std::vector<std::filesystem::path>& parts,
                                      const std::filesystem::path& out);

}  // namespace plumbline
