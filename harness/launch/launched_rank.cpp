// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/launched_rank.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/numbers.hpp"

namespace plumbline {

std::optional<std::int64_t> launched_rank(pid_t pid) {
  // The order matters: inside of a Slurm job, another launcher's ranks have Slurm's variable, too.
  constexpr std::array<const char*, 5> variables = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK",
                                                    "SLURM_PROCID"};
  std::array<std::optional<std::int64_t>, variables.size()> told;
  std::ifstream environment("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string each; std::getline(environment, each, '\0');) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::string begin = std::string(variables[i]) + "=";
      const bool inherited = std::getenv(variables[i]) != nullptr;
      if (!inherited && each.starts_with(begin)) told[i] = parse_integer(each.substr(begin.size()));
    }
  }
  for (const auto& rank : told) {
    if (rank && *rank >= 0) return rank;
  }
  return std::nullopt;
}

}  // namespace plumbline
