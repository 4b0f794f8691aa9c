// SPDX-License-Identifier: BSD-3-Clause
// The verdict as lines that a CI system takes from a job's output: GitHub's workflow commands, CTest's measurements.
#pragma once

#include <filesystem>
#include <string>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"

namespace plumbline {

/// annotations.txt: an `::error title=...::...` for each cell that does not hold and each that was not run, ten in all
/// (GitHub shows no more of a step), a `::warning` for what the data could not show, else one `::notice`.
std::string annotations(const Verdict& verdict);

/// ctest.txt: what CTest takes from a test's output to CDash: counts, times and the cells' largest peaks as numbers,
/// verdict and commit as texts, and `report` (a page) as a file.
std::string ctest_measurements(const Verdict& verdict, const Evidence& evidence, const std::filesystem::path& report);

}  // namespace plumbline
