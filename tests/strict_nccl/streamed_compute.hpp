// SPDX-License-Identifier: BSD-3-Clause
// Compute as a GPU does it, for a trainer whose tensors are the host's: what it sends is made by a kernel that is still
// to run when the message is posted, and what it receives is read by a kernel behind it.
#pragma once

#include <memory>

#include "pipeline/transport/transport.hpp"
#include "tests/strict_nccl/strict_world.hpp"

namespace plumbline::strict {

/// `kernel_time` is what each kernel takes.
std::unique_ptr<Transport> stream_compute(StrictWorld& world, std::unique_ptr<Transport> inner,
                                          std::chrono::microseconds kernel_time);

}  // namespace plumbline::strict
