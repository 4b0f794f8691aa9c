// SPDX-License-Identifier: BSD-3-Clause
// cells/<id>/cell.json: the verdict on a case, reused while judge, question and inputs are the same.
#pragma once

#include <optional>
#include <string>

#include "harness/judge/judge.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// Stores the verdict with a digest of itself, the judging program, the plan, and the inputs of the case's run.
void keep_verdict(const SweepFolder& folder, const CellPlan& plan, const CellVerdict& verdict,
                  const std::string& judge);

/// nullopt if it is missing or its digest differs, because the file or one of the above changed.
std::optional<CellVerdict> kept_verdict(const SweepFolder& folder, const CellPlan& plan, const std::string& judge);

/// The stored verdict of any judge; nullopt if it is missing or unreadable.
std::optional<CellVerdict> earlier_verdict(const SweepFolder& folder, const std::string& id);

}  // namespace plumbline
