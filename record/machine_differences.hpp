// SPDX-License-Identifier: BSD-3-Clause
// In what two runs, or ranks of one, differ beside their work: libraries, instruction sets, variables of the
// environment. Where bits differ this is asked first.
#pragma once

#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline {

/// What a rank writes of the machine that it runs on: an object with the keys `machine`, `environment` and `versions`
/// of the manifest, each of which it may lack.
inline constexpr const char* rank_machine_name = "machine.json";

struct MachineDifference {
  std::string key;                   ///< "machine/aten_capability"
  std::string reference, candidate;  ///< "AVX512", "AVX512 (rank 0), DEFAULT (rank 1)"; "-" where it is not told
};

/// Values of `device`, `versions`, `machine` and `environment` that are not the same in both records and on all of
/// their ranks. A part of which one record tells nothing is no difference, nor is a library that only one of them
/// names.
std::vector<MachineDifference> machine_differences(const Record& reference, const Record& candidate);

}  // namespace plumbline
