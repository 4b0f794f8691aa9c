// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/memory_check.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <sstream>

#include "pipeline/rank_memory.hpp"
#include "support/host.hpp"
#include "support/machine_memory.hpp"

namespace plumbline {
namespace {

struct Machine {
  std::vector<int> ranks;
  std::int64_t free_bytes = std::numeric_limits<std::int64_t>::max();  ///< minimum over the ranks
};

std::string words_of(const std::string& name, const Machine& machine, std::size_t world) {
  if (machine.ranks.size() == world) return "this machine, for all " + std::to_string(world) + " ranks,";
  std::string words = "machine " + host_name(name) + ", for ranks";
  for (const int rank : machine.ranks) words += (rank == machine.ranks.front() ? " " : ", ") + std::to_string(rank);
  return words + ",";
}

}  // namespace

std::string own_machine() {
  return host_identity() + " " + std::to_string(free_memory());
}

void require_free_memory(const std::vector<std::string>& reports, const TrainingRun& training,
                         const PipelinePlan& plan) {
  std::map<std::string, Machine> machines;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    std::istringstream words(reports[rank]);
    std::string name;
    std::int64_t free_bytes = 0;
    words >> name >> free_bytes;
    Machine& machine = machines[name];
    machine.ranks.push_back(static_cast<int>(rank));
    machine.free_bytes = std::min(machine.free_bytes, free_bytes);
  }
  for (const auto& [name, machine] : machines) {
    require_free(memory_of(training, plan, machine.ranks), machine.free_bytes, words_of(name, machine, reports.size()));
  }
}

void require_free_memory_everywhere(Transport& transport, const TrainingRun& training, const PipelinePlan& plan) {
  require_free_memory(transport.gather(own_machine()), training, plan);  // gather returns nothing on other ranks
}

}  // namespace plumbline
