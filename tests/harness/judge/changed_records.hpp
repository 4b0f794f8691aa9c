// SPDX-License-Identifier: BSD-3-Clause
// Changes of two records and their plan, as the cases of tests/approved/verdicts write them (its README explains them).
#pragma once

#include <string>

namespace plumbline::testing {

/// The answer to a case of tests/approved/verdicts: how the verdict differs from that of the unchanged records.
std::string verdict_of_changes(const std::string& changes);

}  // namespace plumbline::testing
