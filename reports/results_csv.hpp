// SPDX-License-Identifier: BSD-3-Clause
// The verdict as a flat table: one row per (case, check), and one per (reference, check).
#pragma once

#include <string>

#include "record/verdict.hpp"

namespace plumbline {

/// docs/verdict.md explains the columns. `balance` is layers per stage, separated by blanks ("2 0 3"), empty if
/// computed; absent counts and exact margins are empty; `cell` is empty in the rows of a reference.
std::string results_csv(const Verdict& verdict);

}  // namespace plumbline
