// SPDX-License-Identifier: BSD-3-Clause
// Puts a fault into the pipeline trainer that this program is linked from.
#pragma once

#include "tests/mutant/fault.hpp"

namespace plumbline::mutant {

/// Before the trainer is called; from then on every rank of this process has it, or its part of it.
void plant(const Fault& fault);

}  // namespace plumbline::mutant
