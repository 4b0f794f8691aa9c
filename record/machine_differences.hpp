// SPDX-License-Identifier: BSD-3-Clause
// Differences in libraries, instruction sets and environment variables, between two runs or between the ranks of one
// run. They are the first suspect where bits differ.
#pragma once

#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline {

/// What a rank records about its machine: an object with the manifest's keys `machine`, `environment` and `versions`,
/// all of them optional.
inline constexpr const char* rank_machine_name = "machine.json";

/// An empty object if the file does not exist. Throws InputError naming the key.
Json read_rank_machine(const std::filesystem::path& file);

struct MachineDifference {
  std::string key;                   ///< "machine/aten_capability"
  std::string reference, candidate;  ///< "AVX512", "AVX512 (rank 0), DEFAULT (rank 1)"; "-" if unknown
};

/// Values of `device`, `versions`, `machine` and `environment` that differ between the records or between their ranks.
/// A part that one record lacks is no difference, nor is a library that only one record names.
std::vector<MachineDifference> machine_differences(const Record& reference, const Record& candidate);

}  // namespace plumbline
