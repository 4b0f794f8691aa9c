// SPDX-License-Identifier: BSD-3-Clause
// Injects a fault into the pipeline trainer that this program is linked from.
#pragma once

#include "tests/mutant/fault.hpp"

namespace plumbline::mutant {

/// Call before the trainer; afterwards every rank of this process has the fault, or its part of it.
void plant(const Fault& fault);

}  // namespace plumbline::mutant
