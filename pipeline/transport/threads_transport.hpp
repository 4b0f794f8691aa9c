// SPDX-License-Identifier: BSD-3-Clause
// A transport between threads of one process, for quick tests, sanitizers, and several stages on one device.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/transport/transport.hpp"
#include "pipeline/transport/transport_settings.hpp"

namespace plumbline {

/// One transport per rank, each used by one thread. The receiver's thread copies a payload into its own storage, so
/// ranks share no memory; a send completes when that is done. The transports may be destroyed in any order. `device`:
/// of the ranks' tensors; GPU tensors go through host memory.
std::vector<std::unique_ptr<Transport>> make_threads_transports(int world_size, TransportSettings settings,
                                                                at::Device device = at::kCPU);

}  // namespace plumbline
