// SPDX-License-Identifier: BSD-3-Clause
// Which GPU each rank computes on: ranks exchange what they see and derive the same assignment.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "pipeline/transport/endpoint.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// What one rank sees.
struct RankGpus {
  std::string host;                ///< host_identity
  std::vector<GpuDevice> devices;  ///< in CUDA's order in this process
};

/// How ranks may share GPUs.
struct GpuSharing {
  bool several_ranks_per_gpu = false;  ///< otherwise more ranks than GPUs on a node are refused
  bool mixed_models = false;  ///< otherwise GPUs of different models are refused, since bits may differ between models
};

/// Serialization. Parsing throws RunError for malformed text.
std::string to_text(const RankGpus& rank);
RankGpus parse_rank_gpus(const std::string& text);

/// For each rank, the index of its GPU in that rank's numbering. A node's ranks take its GPUs in order. If the
/// scheduler gave each rank GPUs of its own (no two ranks see the same one), each takes its first. Throws InputError
/// naming the node, its ranks and its GPUs.
std::vector<int> assign_gpus(const std::vector<RankGpus>& ranks, GpuSharing sharing);

/// Why two ranks may not share a GPU over NCCL here; empty if they may: NCCL 2.30.3 or newer and
/// NCCL_MULTI_RANK_GPU_ENABLE=1 (`enabled`).
std::string why_nccl_needs_one_gpu_a_rank(int nccl_version, bool enabled);

/// Why NCCL may not receive into memory of LibTorch's allocator with this configuration (PYTORCH_ALLOC_CONF or its
/// older name PYTORCH_CUDA_ALLOC_CONF); empty if it may.
std::string why_nccl_cannot_receive(const std::string& allocator);

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
