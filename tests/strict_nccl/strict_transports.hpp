// SPDX-License-Identifier: BSD-3-Clause
// The NCCL transport over the strict libraries, one per rank; headers and control messages go between threads.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "pipeline/transport/group.hpp"
#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/transport.hpp"
#include "tests/strict_nccl/strict_world.hpp"

namespace plumbline::strict {

/// A layer between a transport and its libraries; the default forwards all calls.
using GpuSeam = std::function<GpuApi(int rank, GpuApi inner)>;

std::vector<std::unique_ptr<Transport>> make_strict_transports(StrictWorld& world, int ranks,
                                                               TransportSettings settings, NcclSettings nccl = {},
                                                               const GpuSeam& seam = {});

/// All neighbors of a ring.
std::vector<ConnectedRanks> ring_pairs(int ranks);

}  // namespace plumbline::strict
