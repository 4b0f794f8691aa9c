// SPDX-License-Identifier: BSD-3-Clause
// What explains a norm that is not that of its gradients.
#pragma once

#include <string>

#include "record/record.hpp"

namespace plumbline::judging {

/// "; it is their largest element; only the 2-norm is judged, ..." of an external record; empty of our own. `norm`: of
/// the record's current step.
std::string other_norm_words(const Record& record, double norm);

}  // namespace plumbline::judging
