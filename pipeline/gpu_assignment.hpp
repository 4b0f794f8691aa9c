// SPDX-License-Identifier: BSD-3-Clause
// Assigns a GPU to each rank by its index among the ranks of its node. All ranks compute the same assignment from what
// all of them see.
#pragma once

#include <string>
#include <vector>

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

}  // namespace plumbline
