// SPDX-License-Identifier: BSD-3-Clause
// `plumbline merge DIR...`: the shards of a sweep put together, so that they are judged as one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

struct MergedSweep {
  std::vector<std::string> missing;  ///< cells of the sweep file that no part holds
};

/// Copies what the parts hold into `out`, a new folder that `judge_again` then takes as one sweep's. Of a reference
/// that several parts have run the first one's record stands; all were made from the same. Throws InputError: fewer
/// than two parts, one that is no sweep's or in which another plumbline works, parts of different sweep files, judges,
/// programs, machines or inputs, a cell that two parts hold, an `out` that is there; SystemError where it cannot be
/// written.
MergedSweep merge_sweeps(const std::vector<std::filesystem::path>& parts, const std::filesystem::path& out);

}  // namespace plumbline
