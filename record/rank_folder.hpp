// SPDX-License-Identifier: BSD-3-Clause
// Where a record keeps what one rank wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumbline {

inline constexpr std::string_view rank_folder_prefix = "rank-";
/// Of one pipeline of several, which holds a record of its own: "replica-1".
inline constexpr std::string_view replica_folder_prefix = "replica-";

/// "rank-3", in the record's folder.
inline std::string rank_folder(std::int64_t rank) {
  return std::string(rank_folder_prefix) + std::to_string(rank);
}

inline std::string replica_folder_name(std::int64_t replica) {
  return std::string(replica_folder_prefix) + std::to_string(replica);
}

/// "step-2.safetensors", in the rank's folder dumps; of step -1, what training starts from, "step-initial.safetensors".
inline std::string dump_file_name(std::int64_t step) {
  return "step-" + (step < 0 ? std::string("initial") : std::to_string(step)) + ".safetensors";
}

}  // namespace plumbline
