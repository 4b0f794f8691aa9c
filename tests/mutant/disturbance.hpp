// SPDX-License-Identifier: BSD-3-Clause
// H4: something happens to a rank that computes correctly: it dies, hangs, exits or is slow, at a place in its run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/mutant/fault.hpp"

namespace plumbline::mutant {

/// "H4-killed-forward" and so on: every way at every place, for known_faults().
const std::vector<KnownFault>& disturbances();

/// For a fault whose id starts with "H4-".
std::unique_ptr<Seams> make_disturbance(const Fault& fault);

}  // namespace plumbline::mutant
