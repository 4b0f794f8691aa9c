// SPDX-License-Identifier: BSD-3-Clause
// The verdict as a flat table: one row per (cell, check), and one per (reference, check).
#pragma once

#include <string>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

/// The header of results.csv; docs/verdict.md says what stands in each column.
const std::vector<std::string>& results_columns();

/// `balance` is layers per stage with blanks between ("2 0 3"), empty when computed; counts not made and exact margins
/// are empty; `cell` is empty in the rows of a reference.
std::string results_csv(const Verdict& verdict);

}  // namespace plumbline
