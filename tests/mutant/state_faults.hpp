// SPDX-License-Identifier: BSD-3-Clause
// Faults in what a rank starts from, in its update, and in what its norms and its data are.
#pragma once

#include <memory>
#include <string>

#include "tests/mutant/fault.hpp"
#include "tests/mutant/seams.hpp"

namespace plumbline::mutant {

/// P2, P5, C7, G7, G8, M4, O1, O2, O4, T2, H3.
std::unique_ptr<Seams> make_state_fault(const Fault& fault);

/// Whether it is of the above.
bool is_state_fault(const std::string& id);

}  // namespace plumbline::mutant
