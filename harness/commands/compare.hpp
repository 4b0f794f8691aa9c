// SPDX-License-Identifier: BSD-3-Clause
// `plumbline compare REFERENCE CANDIDATE [--calibration FILE]`: judges two existing records of any trainers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/verdict.hpp"
#include "reports/comparison_text.hpp"
#include "support/json.hpp"

namespace plumbline {

/// Runs every check on the two. `request`: the candidate's request. With `calibration` values are compared within
/// its limits instead of in bits. `accept_missing`: claims that need not be compared in full. These runs have no plan,
/// so what only a plan can require is not required. Throws InputError naming folder, file and line when either is no
/// record that can be read, and when the calibration is of another training, its shadow is not where it says, for a
/// request that is none, or the candidate's values are not dumped.
CellVerdict compare_records(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                            const std::optional<std::filesystem::path>& calibration = std::nullopt,
                            const std::optional<std::filesystem::path>& request = std::nullopt,
                            const std::vector<std::string>& accept_missing = {});

/// The same as the verdict of one case, with the gaps of the reference's data coverage.
Verdict comparison(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                   const std::optional<std::filesystem::path>& calibration = std::nullopt,
                   const std::optional<std::filesystem::path>& request = std::nullopt,
                   const std::vector<std::string>& accept_missing = {});

/// How `plumbline compare` prints: texts for people, or a verdict of one case (schema plumbline-verdict/3).
enum class Printed : std::int8_t { summary, all, json };

/// Compares and prints to standard output. Returns the program's exit code, 0 holds or 1 does not. `page`: see
/// write_comparison.
int compare(const std::filesystem::path& reference, const std::filesystem::path& candidate, Printed printed,
            const std::optional<std::filesystem::path>& calibration = std::nullopt,
            const std::optional<std::filesystem::path>& request = std::nullopt,
            const std::optional<std::filesystem::path>& page = std::nullopt, const Json& harness = {},
            const std::vector<std::string>& accept_missing = {});

/// The comparison as a sweep's folder of one case, with its report: `plumbline report` rewrites it. The two records
/// are linked to, not copied. Replaces an earlier comparison; throws InputError if the folder holds anything else.
void write_comparison(const std::filesystem::path& folder, const std::filesystem::path& reference,
                      const std::filesystem::path& candidate, const Verdict& verdict);

}  // namespace plumbline
