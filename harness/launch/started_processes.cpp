#include "harness/launch/started_processes.hpp"

#include <fstream>

namespace plumbline {

void StartedProcesses::glance() {
  for (const ProcessState& process : tree_.living()) {
    // What one of them starts itself, or forks, is no rank.
    if (seen_.contains(process.pid) || seen_.contains(process.parent)) continue;
    std::ifstream words("/proc/" + std::to_string(process.pid) + "/cmdline", std::ios::binary);
    // The program itself, or a script by that name behind its interpreter; a launcher has it further behind.
    std::string first, second;
    std::getline(words, first, '\0');
    std::getline(words, second, '\0');
    if (first == program_ || second == program_) seen_.insert(process.pid);
  }
}

}  // namespace plumbline
