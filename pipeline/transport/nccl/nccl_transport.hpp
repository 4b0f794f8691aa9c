// SPDX-License-Identifier: BSD-3-Clause
// Ranks with a GPU each: payloads by NCCL, headers and control over a host link.
#pragma once

#include <memory>

#include "pipeline/transport/link.hpp"
#include "pipeline/transport/nccl/gpu_api.hpp"
#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/transport.hpp"
#include "pipeline/transport/transport_settings.hpp"

namespace plumbline {

/// Before the first message all ranks call `connect`, with all pairs that exchange messages. A tensor that is sent or
/// received belongs to the compute stream of the thread that calls: what is sent is what the work put there before
/// `post` makes of it, and what `wait` returns may be used there. The libraries behind `gpu` outlive the transport and
/// have this rank's device set.
std::unique_ptr<Transport> make_nccl_transport(std::unique_ptr<Link> link, GpuApi gpu, TransportSettings settings,
                                               NcclSettings nccl);

}  // namespace plumbline
