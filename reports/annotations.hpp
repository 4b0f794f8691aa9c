// SPDX-License-Identifier: BSD-3-Clause
// The verdict as lines that a CI system takes from a job's output: GitHub's workflow commands, CTest's measurements.
#pragma once

#include <filesystem>
#include <string>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"

namespace plumbline {

/// annotations.txt: an `::error title=...::...` for each case that does not hold or was not run, ten in all
/// (GitHub's limit per step), a `::warning` for each gap of the data coverage, else one `::notice`.
std::string annotations(const Verdict& verdict);

/// ctest.txt: what CTest sends from a test's output to CDash, at most ten lines: cases, elements, seconds and the
/// cases' largest peaks as numbers, verdict and commit as texts, and `report` (a page) as a file.
std::string ctest_measurements(const Verdict& verdict, const Evidence& evidence, const std::filesystem::path& report);

}  // namespace plumbline
