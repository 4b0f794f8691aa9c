// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/gpu_ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "pipeline/transport/control.hpp"
#include "pipeline/transport/deadline_error.hpp"
#include "pipeline/transport/message.hpp"
#include "support/host.hpp"

namespace plumbline {

RankGpus gpus_of_this_rank(GpuSupport& gpu) {
  RankGpus own;
  own.host = host_identity();
  std::string ignored;
  const int count = gpu.device_count(ignored);
  for (int index = 0; index < count; ++index) own.devices.push_back(gpu.device(index));
  return own;
}

std::vector<RankGpus> exchange_gpus(Endpoint& endpoint, const RankGpus& own, std::chrono::milliseconds timeout) {
  const auto wait = [&](const std::string& what, const std::function<bool()>& ended) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!ended()) {
      if (std::chrono::steady_clock::now() >= deadline) {
        throw DeadlineError(waiting_text(endpoint.rank(), what, timeout) + ": the ranks could not agree on their GPUs");
      }
      endpoint.idle(deadline);
    }
  };
  Control control(endpoint, wait);  // separate, so that the run's control calls are numbered from 0
  std::string lines;
  for (const std::string& line : control.gather(to_text(own))) lines += line + "\n";
  std::istringstream all(control.broadcast(lines));
  std::vector<RankGpus> ranks;
  for (std::string line; std::getline(all, line);) ranks.push_back(parse_rank_gpus(line));
  return ranks;
}

std::vector<std::string> models_used(const std::vector<RankGpus>& ranks, const std::vector<int>& assigned) {
  std::vector<std::string> models;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string& name = ranks[rank].devices.at(static_cast<std::size_t>(assigned.at(rank))).name;
    if (std::ranges::find(models, name) == models.end()) models.push_back(name);
  }
  return models;
}

std::string why_nccl_needs_one_gpu_a_rank_here(GpuSupport& gpu) {
  const char* enabled = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return why_nccl_needs_one_gpu_a_rank(gpu.versions().nccl, enabled != nullptr && std::string(enabled) == "1");
}

}  // namespace plumbline
