// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are threads of one process: the transport for quick tests, sanitizers, and several stages on one device.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/transport/transport.hpp"
#include "pipeline/transport/transport_settings.hpp"

namespace plumbline {

/// One transport a rank, each to be used by one thread. A payload is copied by the receiver's thread into storage of
/// its own, so that no memory is shared between ranks; a send ends when that has been done. They may be destroyed in
/// any order. `device`: where the ranks' tensors lie; those of a GPU go through host memory.
std::vector<std::unique_ptr<Transport>> make_threads_transports(int world_size, TransportSettings settings,
                                                                at::Device device = at::kCPU);

}  // namespace plumbline
