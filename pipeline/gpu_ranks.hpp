// SPDX-License-Identifier: BSD-3-Clause
// Ranks exchange which GPUs they see and derive the same assignment, before anything else.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "pipeline/gpu_assignment.hpp"
#include "pipeline/transport/endpoint.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// What this process sees on this node.
RankGpus gpus_of_this_rank(GpuSupport& gpu);

/// Collective. Returns what every rank sees, in rank order. A rank that cannot use GPUs reports none. Throws
/// DeadlineError if a rank does not answer in time.
std::vector<RankGpus> exchange_gpus(Endpoint& endpoint, const RankGpus& own, std::chrono::milliseconds timeout);

/// The distinct models of the assigned GPUs, in rank order.
std::vector<std::string> models_used(const std::vector<RankGpus>& ranks, const std::vector<int>& assigned);

/// why_nccl_needs_one_gpu_a_rank for the loaded NCCL and this environment.
std::string why_nccl_needs_one_gpu_a_rank_here(GpuSupport& gpu);

}  // namespace plumbline
