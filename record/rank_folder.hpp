// SPDX-License-Identifier: BSD-3-Clause
// Names of a rank's files in a record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace plumbline {

inline constexpr std::string_view rank_folder_prefix = "rank-";
/// Folder of one pipeline of several, itself a record: "replica-1".
inline constexpr std::string_view replica_folder_prefix = "replica-";

/// "rank-3", within the record.
inline std::string rank_folder(std::int64_t rank) {
  return std::string(rank_folder_prefix) + std::to_string(rank);
}

inline std::string replica_folder_name(std::int64_t replica) {
  return std::string(replica_folder_prefix) + std::to_string(replica);
}

/// "step-2.safetensors", within the rank's folder dumps; "step-initial.safetensors" for step -1, the start.
inline std::string dump_file_name(std::int64_t step) {
  return "step-" + (step < 0 ? std::string("initial") : std::to_string(step)) + ".safetensors";
}

/// Where the ranks of a run are in its record.
struct RankFolders {
  // Implicit: most runs have one pipeline.
  RankFolders(std::filesystem::path folder, std::int64_t ranks_of_replica = 0)
      : record(std::move(folder)), ranks(ranks_of_replica) {}

  /// The folder of a rank of the run.
  std::filesystem::path of(std::int64_t rank) const {
    return pipeline_of(rank) / rank_folder(ranks == 0 ? rank : rank % ranks);
  }
  /// The record of its pipeline.
  std::filesystem::path pipeline_of(std::int64_t rank) const {
    return ranks == 0 ? record : record / replica_folder_name(rank / ranks);
  }

  std::filesystem::path record;
  std::int64_t ranks;  ///< of each replica, whose ranks follow each other; 0: one pipeline
};

}  // namespace plumbline
