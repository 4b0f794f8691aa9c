// The verdict as a flat table: one row per (cell, check).
#pragma once

#include <string>

#include "record/verdict.hpp"

namespace plumbline {

/// Columns: cell, run, model, optimizer, world, schedule, balance, check, outcome, required, tensors, elements, limit,
/// measured, margin, reason. `balance` is layers per stage with blanks between ("2 0 3"), empty when computed; counts
/// not made and exact margins are empty.
std::string results_csv(const Verdict& verdict);

}  // namespace plumbline
