// SPDX-License-Identifier: BSD-3-Clause
// What a sweep leaves to others: judging, and writing reports.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "harness/judge/cell_plan.hpp"
#include "harness/sweep/sweep_verdict.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// What a sweep asks of judge.hpp and reports/, so that it can be tested without either.
struct SweepServices {
  std::function<CellVerdict(const CellPlan&, const std::filesystem::path& reference,
                            const std::filesystem::path& candidate,
                            const std::optional<std::filesystem::path>& repeated)>
      judge;
  std::function<void(const std::filesystem::path& folder)> write_reports;
  ReferenceJudge judge_reference = nullptr;  ///< empty: nothing is judged of references
};

}  // namespace plumbline
