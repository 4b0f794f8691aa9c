// SPDX-License-Identifier: BSD-3-Clause
// The records that the cases of tests/approved/verdicts change, by name.
#pragma once

#include <memory>
#include <string>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

/// "start" and words, each for one difference from SyntheticCell, in order; see sample_cells.cpp.
std::unique_ptr<SyntheticCell> sample_cell(const std::string& start);

}  // namespace plumbline::testing
