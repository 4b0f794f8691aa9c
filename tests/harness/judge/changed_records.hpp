// SPDX-License-Identifier: BSD-3-Clause
// Changes to two records and their plan, in the notation of the cases of tests/approved/verdicts (see its README).
#pragma once

#include <string>

#include "record/verdict.hpp"

namespace plumbline::testing {

/// How a verdict differs from that of unchanged records; without those, with all figures.
std::string verdict_text(const CellVerdict& verdict, const CellVerdict* unchanged);

/// The answer to a case of tests/approved/verdicts: how the verdict differs from that of the unchanged records.
std::string verdict_of_changes(const std::string& changes);

}  // namespace plumbline::testing
