// SPDX-License-Identifier: BSD-3-Clause
// Faults in the sum of gradients over replicas. A fault's rank is the number of the faulty replica.
#pragma once

#include <memory>

#include "tests/mutant/fault.hpp"
#include "tests/mutant/seams.hpp"

namespace plumbline::mutant {

/// D1 to D5 (planted.cpp makes D6).
std::unique_ptr<Seams> make_replica_fault(const Fault& fault);

}  // namespace plumbline::mutant
