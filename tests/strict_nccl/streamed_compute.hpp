// SPDX-License-Identifier: BSD-3-Clause
// GPU-like asynchronous compute for a trainer with host tensors: a kernel that has not run yet when a message is
// started computes what is sent, and a later kernel reads what is received.
#pragma once

#include <memory>

#include "pipeline/transport/transport.hpp"
#include "tests/strict_nccl/strict_world.hpp"

namespace plumbline::strict {

/// `kernel_time`: duration of each kernel.
std::unique_ptr<Transport> stream_compute(StrictWorld& world, std::unique_ptr<Transport> inner,
                                          std::chrono::microseconds kernel_time);

}  // namespace plumbline::strict
