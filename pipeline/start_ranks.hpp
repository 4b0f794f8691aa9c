// SPDX-License-Identifier: BSD-3-Clause
// --ranks: this program starts its own ranks on this machine.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

/// Replaces this process by mpirun, which starts `ranks` processes of this program with the same arguments but --ranks:
/// exit code and signals are mpirun's. More ranks than cores are allowed, root too. Returns only by an exception:
/// InputError under a launcher or in a Slurm job, which set the number themselves; SystemError if there is no mpirun
/// that it knows.
[[noreturn]] void start_ranks(int ranks, const std::vector<std::string>& command);

}  // namespace plumbline
