// SPDX-License-Identifier: BSD-3-Clause
// Faults of resuming a run: the saved values are right, the loaded ones are wrong.
#pragma once

#include <memory>

#include "tests/mutant/fault.hpp"
#include "tests/mutant/seams.hpp"

namespace plumbline::mutant {

/// R-steps, R-moments, R-data, R-rate, R-tied or R-layers.
std::unique_ptr<Seams> make_faulty_resume(const Fault& fault);

}  // namespace plumbline::mutant
