// SPDX-License-Identifier: BSD-3-Clause
// The folder of the programs that a test runs.
#pragma once

#include <string>

#include "tests/paths.hpp"

namespace plumbline::testing {

/// The folder of the built programs.
inline std::string bin() {
  return bin_path();
}

/// For the command line of mpirun: rank 1 runs `other`, the other ranks `usual`. mpirun of Open MPI 5.0.7 crashes if it
/// gets several programs itself.
inline std::string with_another_rank_1(const std::string& usual, const std::string& other) {
  return "sh -c 'if [ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ]; then exec " + other + "; else exec " + usual +
         "; fi'";
}

}  // namespace plumbline::testing
