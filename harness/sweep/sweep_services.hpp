// SPDX-License-Identifier: BSD-3-Clause
// Interfaces of a sweep to the judge and the reports.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "harness/judge/cell_plan.hpp"
#include "harness/sweep/sweep_verdict.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// The functions of judge.hpp and reports/ that a sweep uses, replaceable in tests.
struct SweepServices {
  std::function<CellVerdict(const CellPlan&, const std::filesystem::path& reference,
                            const std::filesystem::path& candidate,
                            const std::optional<std::filesystem::path>& repeated)>
      judge;
  std::function<void(const std::filesystem::path& folder)> write_reports;
  ReferenceJudge judge_reference = nullptr;  ///< empty: references are not judged
};

}  // namespace plumbline
