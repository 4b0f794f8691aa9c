// SPDX-License-Identifier: BSD-3-Clause
// A baseline made of a finished sweep's folder.
#pragma once

#include <filesystem>
#include <string>

#include "harness/baseline/baseline.hpp"

namespace plumbline {

/// Reads verdict.json and the records beside it. Throws InputError: no sweep lies there, it does not hold or is
/// unfinished (what failed is nothing to hold others to), a record cannot be read, its level leaves out the digests of
/// parameters.
Baseline take_baseline(const std::filesystem::path& sweep, const std::string& name);

/// The same of a sweep that is compared with another, and not kept: it may not hold. Cells that do not are in `red`,
/// and what cannot be read is left out where it is red.
Baseline take_for_comparison(const std::filesystem::path& sweep, const std::string& name);

}  // namespace plumbline
