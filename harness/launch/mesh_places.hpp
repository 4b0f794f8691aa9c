// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a run leave their progress pages, where several pipelines train side by side.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace plumbline {

struct RankPlace {
  std::filesystem::path folder;
  std::vector<std::int64_t> pipeline;  ///< the run's ranks that its own pipeline counts as 0, 1, ...
};

/// By rank of the run; empty as long as no replica has said which ranks there are, and of a run with one pipeline.
std::vector<RankPlace> places_in_mesh(const std::filesystem::path& record);

}  // namespace plumbline
