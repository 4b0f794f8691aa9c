// SPDX-License-Identifier: BSD-3-Clause
// Where the programs lie that a test runs.
#pragma once

#include <string>

#include "tests/paths.hpp"

namespace plumbline::testing {

/// The folder of the programs that were built.
inline std::string bin() {
  return bin_path();
}

/// For the command line of mpirun: rank 1 becomes `other`, the rest `usual`. Given several programs itself, the mpirun
/// of Open MPI 5.0.7 crashes.
inline std::string with_another_rank_1(const std::string& usual, const std::string& other) {
  return "sh -c 'if [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ]; then exec " + other + "; else exec " + usual +
         "; fi'";
}

}  // namespace plumbline::testing
