// SPDX-License-Identifier: BSD-3-Clause
// Judges one case from two records, independently of how the records were made.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// Runs every check on the case. `repeated`: the record of a second run, for R0. Never throws because of a record's
/// content: for a record that cannot be read, `completion` fails with the reader's message and the other checks are
/// not_run.
CellVerdict judge_cell(const CellPlan& plan, const std::filesystem::path& reference,
                       const std::filesystem::path& candidate,
                       const std::optional<std::filesystem::path>& repeated = std::nullopt);

/// The reason why `check` does not apply to a case, derived from the sweep's plan and the candidate's manifest before
/// any table is read; nullopt if it applies. Throws InputError for an unknown check.
std::optional<std::string> not_applicable(const std::string& check, const CellPlan& plan, const Manifest& candidate);

/// All checks' names, in the order of docs/checks.md.
const std::vector<std::string>& check_names();

}  // namespace plumbline
