// SPDX-License-Identifier: BSD-3-Clause
// From two records to a verdict on one cell. Knows nothing of how the records came to be.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// Runs every check on the cell. `repeated`: the record of the same run done again, for R0. Never throws for what a
/// record holds: a record that cannot be read makes `completion` fail with the reader's message and the rest not_run.
CellVerdict judge_cell(const CellPlan& plan, const std::filesystem::path& reference,
                       const std::filesystem::path& candidate,
                       const std::optional<std::filesystem::path>& repeated = std::nullopt);

/// Why `check` does not apply to a cell, decided from the sweep's plan and the candidate's manifest alone, before any
/// table is read; nothing when it applies. Throws InputError for an unknown check.
std::optional<std::string> not_applicable(const std::string& check, const CellPlan& plan, const Manifest& candidate);

/// All checks' names in the order of the table: as_asked, completion, data, census, loss, boundaries, gradients,
/// nonzero_gradients, gradient_norm, parameters, empty_partitions, variable_lengths, memory, conformance,
/// repeatability.
const std::vector<std::string>& check_names();

}  // namespace plumbline
