// SPDX-License-Identifier: BSD-3-Clause
// A transport between GPUs: payloads by NCCL, headers and control messages over a host link.
#pragma once

#include <memory>

#include "pipeline/transport/link.hpp"
#include "pipeline/transport/nccl/gpu_api.hpp"
#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/transport.hpp"
#include "pipeline/transport/transport_settings.hpp"

namespace plumbline {

/// Before the first message all ranks must call `connect` with all pairs that exchange messages. Tensors belong to the
/// compute stream of the calling thread: a send transfers what the work queued there before `post` computes, and the
/// tensor that `wait` returns may be used there. The libraries of `gpu` must outlive the transport and have this rank's
/// device set.
std::unique_ptr<Transport> make_nccl_transport(std::unique_ptr<Link> link, GpuApi gpu, TransportSettings settings,
                                               NcclSettings nccl);

}  // namespace plumbline
