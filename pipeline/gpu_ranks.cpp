// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/gpu_ranks.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "pipeline/transport/control.hpp"
#include "pipeline/transport/message.hpp"
#include "support/error.hpp"
#include "support/host.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

namespace {

// Older versions refuse this as "duplicate GPUs"; source: NCCL release notes 2.30.3.
constexpr int first_nccl_that_shares = 23003;

std::string model_text(const GpuDevice& device) {
  return device.name + " (compute capability " + std::to_string(device.capability / 10) + "." +
         std::to_string(device.capability % 10) + ")";
}

/// Whether no two of these ranks see the same GPU, that is, whether the scheduler gave each its own.
bool each_has_its_own(const std::vector<RankGpus>& ranks, const std::vector<std::size_t>& node) {
  std::set<std::string> seen;
  for (const std::size_t rank : node) {
    for (const GpuDevice& device : ranks[rank].devices) {
      if (!seen.insert(device.uuid).second) return false;
    }
  }
  return true;
}

void check_models(const std::vector<RankGpus>& ranks, const std::vector<int>& assigned) {
  std::map<std::string, std::size_t> first_rank_of;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    first_rank_of.emplace(model_text(ranks[rank].devices[static_cast<std::size_t>(assigned[rank])]), rank);
  }
  if (first_rank_of.size() <= 1) return;
  std::vector<std::string> models;
  for (const auto& [model, rank] : first_rank_of) {
    models.push_back(model + " on rank " + std::to_string(rank) + " of " + host_name(ranks[rank].host));
  }
  throw InputError(
      "the ranks have GPUs of different models: " + join(models, ", ") +
      ". Kernels differ between them, so bits may differ; use GPUs of one model, or give "
      "--mixed-gpus and compare within the limits of a calibration (plumbline calibrate, plumbline compare "
      "--calibration)");
}

}  // namespace

std::string to_text(const RankGpus& rank) {
  Json devices = Json::array();
  for (const GpuDevice& device : rank.devices) {
    devices.push_back({device.name, device.uuid, device.capability, device.total_bytes});
  }
  return json_text({{"host", rank.host}, {"devices", devices}});
}

RankGpus parse_rank_gpus(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("host") || !json.contains("devices")) {
    throw RunError("a rank sent a malformed description of its GPUs: " + text);
  }
  RankGpus rank{json.at("host").get<std::string>(), {}};
  for (const Json& device : json.at("devices")) {
    rank.devices.push_back({device.at(0).get<std::string>(), device.at(1).get<std::string>(), device.at(2).get<int>(),
                            device.at(3).get<std::int64_t>()});
  }
  return rank;
}

std::vector<int> assign_gpus(const std::vector<RankGpus>& ranks, GpuSharing sharing) {
  std::map<std::string, std::vector<std::size_t>> nodes;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) nodes[ranks[rank].host].push_back(rank);

  std::vector<int> assigned(ranks.size(), 0);
  for (const auto& [host, node] : nodes) {
    const bool own = node.size() > 1 && each_has_its_own(ranks, node);
    for (std::size_t local = 0; local < node.size(); ++local) {
      const std::size_t devices = ranks[node[local]].devices.size();
      const bool enough = own ? devices > 0 : local < devices;
      if (devices == 0 || (!enough && !sharing.several_ranks_per_gpu)) {
        throw InputError(host_name(host) + " has " + std::to_string(devices) + (devices == 1 ? " GPU" : " GPUs") +
                         " for " + std::to_string(node.size()) + (node.size() == 1 ? " rank" : " ranks") +
                         "; start at most as many ranks a node as it has GPUs (mpirun -n, --map-by, a host file with "
                         "slots), or make more visible (CUDA_VISIBLE_DEVICES)");
      }
      assigned[node[local]] = own ? 0 : static_cast<int>(local % devices);
    }
  }
  if (!sharing.mixed_models) check_models(ranks, assigned);
  return assigned;
}

std::string why_nccl_needs_one_gpu_a_rank(int nccl_version, bool enabled) {
  if (!(nccl_version >= first_nccl_that_shares)) {
    return "NCCL " + nccl_version_text(nccl_version) + " refuses two ranks on one GPU; " +
           nccl_version_text(first_nccl_that_shares) +
           " or newer can share one between two (put it in front with LD_LIBRARY_PATH, and set "
           "NCCL_MULTI_RANK_GPU_ENABLE=1)";
  }
  if (!enabled) return "two ranks share a GPU over NCCL only with NCCL_MULTI_RANK_GPU_ENABLE=1 in the environment";
  return "";
}

std::string why_nccl_cannot_receive(const std::string& allocator) {
  // Expandable segments are unmapped once the stream of their memory is idle, which is not the stream that computes
  // with what was received; the other backend hands memory to any stream.
  for (const std::string setting : {"expandable_segments:True", "backend:cudaMallocAsync"}) {
    if (allocator.find(setting) == std::string::npos) continue;
    return setting +
           " lets LibTorch take memory back while the GPU still computes with what NCCL received into it: unset " +
           setting.substr(0, setting.find(':')) + ", or use --transport mpi";
  }
  return "";
}

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
