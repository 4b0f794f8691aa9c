// SPDX-License-Identifier: BSD-3-Clause
// Ranks agree on their GPUs before anything else: each tells what it sees, and all come to the same assignment.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "pipeline/gpu_assignment.hpp"
#include "pipeline/transport/link.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// What this process sees on this node.
RankGpus visible_gpus(GpuSupport& gpu);

/// Collective: what every rank sees, in rank order. A rank that cannot use GPUs tells of none. Throws DeadlineError
/// when a rank does not come in time.
std::vector<RankGpus> exchange_gpus(Link& link, const RankGpus& own, std::chrono::milliseconds timeout);

/// The models among the GPUs assigned, each once, in rank order.
std::vector<std::string> models_used(const std::vector<RankGpus>& ranks, const std::vector<int>& assigned);

/// why_nccl_needs_one_gpu_a_rank for the NCCL that is loaded and this environment.
std::string why_nccl_needs_one_gpu_a_rank_here(GpuSupport& gpu);

}  // namespace plumbline
