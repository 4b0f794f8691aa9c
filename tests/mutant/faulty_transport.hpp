// SPDX-License-Identifier: BSD-3-Clause
// Faults on the wire: what the sender recorded is right, what arrives is wrong.
#pragma once

#include <memory>

#include "pipeline/transport/transport.hpp"
#include "tests/mutant/fault.hpp"

namespace plumbline::mutant {

/// C1, C2, C5, C9, C13, C10, C10z, C11, C11h or N3 around `inner`, which must outlive it.
std::unique_ptr<Transport> make_faulty_transport(const Fault& fault, int rank, Transport& inner);

}  // namespace plumbline::mutant
