// Where a record keeps what one rank wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumbline {

inline constexpr std::string_view rank_folder_prefix = "rank-";

/// "rank-3", in the record's folder.
inline std::string rank_folder(std::int64_t rank) {
  return std::string(rank_folder_prefix) + std::to_string(rank);
}

/// "step-2.safetensors", in the rank's folder dumps; of step -1, what training starts from, "step-initial.safetensors".
inline std::string dump_file_name(std::int64_t step) {
  return "step-" + (step < 0 ? std::string("initial") : std::to_string(step)) + ".safetensors";
}

}  // namespace plumbline
