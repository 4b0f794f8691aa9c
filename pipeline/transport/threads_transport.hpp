// SPDX-License-Identifier: BSD-3-Clause
// A transport between threads of one process, for quick tests, sanitizers, and several stages on one device.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/transport/endpoint.hpp"
#include "pipeline/transport/transport.hpp"

namespace plumbline {

/// One endpoint per rank. The receiver's thread copies a message from the sender's memory when both ends are there.
/// Throws InputError for a world without ranks.
std::vector<std::unique_ptr<Endpoint>> make_threads_endpoints(int world_size);

/// One transport per rank, each used by one thread. Ranks share no memory; a send ends when the receiver has its copy.
/// The transports may be destroyed in any order. `device`: of the ranks' tensors; GPU tensors go through host memory.
std::vector<std::unique_ptr<Transport>> make_threads_transports(int world_size, TransportSettings settings,
                                                                at::Device device = at::kCPU);

}  // namespace plumbline
