// SPDX-License-Identifier: BSD-3-Clause
// Which GPU each rank uses: by its number among the ranks of its node, decided alike on all ranks from what all of them
// see.
#pragma once

#include <string>
#include <vector>

#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// What one rank sees.
struct RankGpus {
  std::string host;                ///< host_identity
  std::vector<GpuDevice> devices;  ///< as CUDA numbers them in this process
};

/// How ranks may use GPUs.
struct GpuSharing {
  bool several_ranks_per_gpu = false;  ///< else more ranks than GPUs on a node are refused
  bool mixed_models = false;           ///< else GPUs of different models are refused: bits cannot be promised
};

/// What a rank tells the others, and back. Throws RunError for a text that is none.
std::string to_text(const RankGpus& rank);
RankGpus parse_rank_gpus(const std::string& text);

/// For each rank the index of its GPU as that rank numbers them. A node's ranks take its GPUs in order. Where each rank
/// was given GPUs of its own by the scheduler (no two see the same), it takes the first of them. Throws InputError that
/// names the node, its ranks and its GPUs.
std::vector<int> assign_gpus(const std::vector<RankGpus>& ranks, GpuSharing sharing);

/// Why two ranks may not share a GPU over NCCL here; empty when they may: NCCL 2.30.3 or newer, and
/// NCCL_MULTI_RANK_GPU_ENABLE=1 (`enabled`).
std::string why_nccl_needs_one_gpu_a_rank(int nccl_version, bool enabled);

}  // namespace plumbline
