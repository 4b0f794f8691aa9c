// SPDX-License-Identifier: BSD-3-Clause
// Why the gradient of a weight that several stages hold differs: it was not summed over its copies, or the one device
// sums its uses in another order.
#pragma once

#include <map>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {

/// By each name of a tied weight whose gradient differs from the reference's in this step; empty where rows do not show
/// a cause.
std::map<std::string, std::string> tied_gradient_words(const StepEvidence& now);

}  // namespace plumbline::judging
