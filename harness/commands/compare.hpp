// SPDX-License-Identifier: BSD-3-Clause
// `plumbline compare REFERENCE CANDIDATE [--calibration FILE]`: judges two records that exist already, whoever wrote
// them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "record/verdict.hpp"

namespace plumbline {

/// Runs every check on the two; `request`: what was asked of the candidate; with `calibration` values are held against
/// its limits instead of in bits. Nobody planned these runs, so what only a plan can demand is shown and not required:
/// a check that could not look because a record of role external lacks what it may lack, and data that cannot show
/// every fault. Throws InputError naming folder, file and line when either is no record that can be read, and when the
/// calibration is of another training, its shadow is not where it says, for a request that is none, or the candidate's
/// values are not dumped.
CellVerdict compare_records(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                            const std::optional<std::filesystem::path>& calibration = std::nullopt,
                            const std::optional<std::filesystem::path>& request = std::nullopt);

/// The same as the verdict of one cell, with what the reference's data could not show.
Verdict comparison(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                   const std::optional<std::filesystem::path>& calibration = std::nullopt,
                   const std::optional<std::filesystem::path>& request = std::nullopt);

/// A table for people: one line a check, the verdict, warnings, the first divergence and how large it is.
std::string comparison_text(const Verdict& verdict);
std::string comparison_text(const CellVerdict& cell);

/// Compares and prints to standard output: the table, or with `json` a verdict of one cell (schema
/// plumbline-verdict/2). Returns the program's exit code, 0 holds or 1 does not. `page`: see write_comparison.
int compare(const std::filesystem::path& reference, const std::filesystem::path& candidate, bool json,
            const std::optional<std::filesystem::path>& calibration = std::nullopt,
            const std::optional<std::filesystem::path>& request = std::nullopt,
            const std::optional<std::filesystem::path>& page = std::nullopt);

/// The comparison as a sweep's folder of one cell, with its report: `plumbline report` makes it again. The two records
/// are linked to, not copied. Throws InputError where the folder is there and not empty.
void write_comparison(const std::filesystem::path& folder, const std::filesystem::path& reference,
                      const std::filesystem::path& candidate, const Verdict& verdict);

}  // namespace plumbline
