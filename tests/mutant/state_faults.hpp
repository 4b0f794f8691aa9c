// SPDX-License-Identifier: BSD-3-Clause
// Faults in a rank's initial values, its update, its norms and its data.
#pragma once

#include <memory>
#include <string>

#include "tests/mutant/fault.hpp"
#include "tests/mutant/seams.hpp"

namespace plumbline::mutant {

/// P2, P5, C7, G7, G8, M4, O1, O2, O4, T2, H3.
std::unique_ptr<Seams> make_state_fault(const Fault& fault);

/// Whether it is one of the above.
bool is_state_fault(const std::string& id);

}  // namespace plumbline::mutant
