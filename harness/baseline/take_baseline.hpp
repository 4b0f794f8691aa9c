// SPDX-License-Identifier: BSD-3-Clause
// Creates a baseline from a finished sweep's folder.
#pragma once

#include <filesystem>
#include <string>

#include "harness/baseline/baseline.hpp"

namespace plumbline {

/// Reads verdict.json and the records next to it. Throws InputError: no sweep, one that does not hold or is unfinished
/// (failed results are no baseline), an unreadable record, a level without digests of parameters.
Baseline take_baseline(const std::filesystem::path& sweep, const std::string& name);

/// The same for a sweep that is only compared: it may fail. Its failing cases are in `red`, and their unreadable
/// records are skipped.
Baseline take_for_comparison(const std::filesystem::path& sweep, const std::string& name);

}  // namespace plumbline
