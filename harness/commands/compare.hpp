// SPDX-License-Identifier: BSD-3-Clause
// `plumbline compare REFERENCE CANDIDATE [--calibration FILE]`: judges two existing records of any trainers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/verdict.hpp"
#include "support/json.hpp"

namespace plumbline {

/// Runs every check on the two. `request`: the candidate's request. With `calibration` values are compared within
/// its limits instead of in bits. `accept_missing`: claims that need not be compared in full. These runs have no plan,
/// so what only a plan can require is not required. Throws InputError naming folder, file and line when either is not a
/// readable record, and when the calibration is of another training, its shadow is not where it says, for a request
/// that is none, or the candidate's values are not dumped.
CellVerdict compare_records(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                            const std::optional<std::filesystem::path>& calibration = std::nullopt,
                            const std::optional<std::filesystem::path>& request = std::nullopt,
                            const std::vector<std::string>& accept_missing = {});

/// The same as the verdict of one case, with the gaps of the reference's data coverage.
Verdict comparison(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                   const std::optional<std::filesystem::path>& calibration = std::nullopt,
                   const std::optional<std::filesystem::path>& request = std::nullopt,
                   const std::vector<std::string>& accept_missing = {});

/// A table for people: one line per check, the verdict, warnings, the first divergence and its size.
std::string comparison_text(const Verdict& verdict);
std::string comparison_text(const CellVerdict& cell);

/// Compares and prints to standard output: the table, or with `json` a verdict of one case (schema
/// plumbline-verdict/2). Returns the program's exit code, 0 holds or 1 does not. `page`: see write_comparison.
int compare(const std::filesystem::path& reference, const std::filesystem::path& candidate, bool json,
            const std::optional<std::filesystem::path>& calibration = std::nullopt,
            const std::optional<std::filesystem::path>& request = std::nullopt,
            const std::optional<std::filesystem::path>& page = std::nullopt, const Json& harness = {},
            const std::vector<std::string>& accept_missing = {});

/// The comparison as a sweep's folder of one case, with its report: `plumbline report` rewrites it. The two records
/// are linked to, not copied. Throws InputError if the folder exists and is not empty.
void write_comparison(const std::filesystem::path& folder, const std::filesystem::path& reference,
                      const std::filesystem::path& candidate, const Verdict& verdict);

}  // namespace plumbline
