// SPDX-License-Identifier: BSD-3-Clause
// The verdict as Markdown, for a page that a CI system shows beside a job ($GITHUB_STEP_SUMMARY).
#pragma once

#include <optional>
#include <string>

#include "record/verdict.hpp"
#include "reports/baseline_result.hpp"

namespace plumbline {

/// summary.md: verdict, counts, what does not hold with its place, what it looks like and the command, what was not run
/// and what changed since the baseline. Long lists are cut and say so: such pages take 1 MiB.
std::string summary_md(const Verdict& verdict, const std::optional<BaselineResult>& baseline = std::nullopt);

}  // namespace plumbline
