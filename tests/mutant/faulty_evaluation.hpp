// SPDX-License-Identifier: BSD-3-Clause
// Faults of an evaluation between two steps.
#pragma once

#include <memory>

#include "tests/mutant/fault.hpp"
#include "tests/mutant/seams.hpp"

namespace plumbline::mutant {

/// E-gradients, E-data, E-loss.
std::unique_ptr<Seams> make_faulty_evaluation(const Fault& fault);

}  // namespace plumbline::mutant
