// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/started_processes.hpp"

#include <fstream>

namespace plumbline {

void StartedProcesses::glance() {
  for (const ProcessState& process : tree_.living()) {
    if (seen_.contains(process.pid)) continue;
    // Descendants of a counted process are no ranks. Parents come before their children.
    if (seen_.contains(process.parent) || below_.contains(process.parent)) {
      below_.insert(process.pid);
      continue;
    }
    std::ifstream words("/proc/" + std::to_string(process.pid) + "/cmdline", std::ios::binary);
    // The program itself, or a script by that name after its interpreter; in a launcher's command line it comes later.
    std::string first, second;
    std::getline(words, first, '\0');
    std::getline(words, second, '\0');
    if (first == program_ || second == program_) seen_.insert(process.pid);
  }
}

}  // namespace plumbline
