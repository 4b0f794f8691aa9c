// SPDX-License-Identifier: BSD-3-Clause
// Names of a rank's files in a record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace plumbline
