// SPDX-License-Identifier: BSD-3-Clause
// Faults in how gradients are scaled and how those of microbatches are added.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/mutant/fault.hpp"
#include "tests/mutant/seams.hpp"

namespace plumbline::mutant {

/// C12, G2, G3, G4, G5, G9, G10, G11.
std::unique_ptr<Seams> make_gradient_fault(const Fault& fault);

/// Whether it is one of the above.
bool is_gradient_fault(const std::string& id);

}  // namespace plumbline::mutant
