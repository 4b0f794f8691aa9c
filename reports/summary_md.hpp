// SPDX-License-Identifier: BSD-3-Clause
// The verdict as Markdown, for the summary that a CI system shows with a job ($GITHUB_STEP_SUMMARY).
#pragma once

#include <string>

#include "record/verdict.hpp"

namespace plumbline {

/// summary.md: verdict, counts, failing cases with place and command, what was not
/// run. Long lists are truncated with a note: such pages take 1 MiB.
std::string summary_md(const Verdict& verdict);

}  // namespace plumbline
