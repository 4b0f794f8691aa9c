// SPDX-License-Identifier: BSD-3-Clause
// Locations of the ranks' heartbeats in runs with several pipelines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

struct RankPlace {
  std::filesystem::path folder;
  std::string replica;  ///< "replica 1, rank 0"
  /// Global ranks of its pipeline, in local order; empty if its heartbeat names ranks of the run.
  std::vector<std::int64_t> pipeline;
};

/// By global rank; empty for a single pipeline, and until a replica has listed the ranks.
std::vector<RankPlace> places_in_mesh(const std::filesystem::path& record);

}  // namespace plumbline
