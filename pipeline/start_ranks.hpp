// SPDX-License-Identifier: BSD-3-Clause
// --ranks: this program starts its own ranks on this machine.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

/// Starts `ranks` processes of this program on this machine by mpirun, with the same arguments but --ranks, and waits
/// for them; more ranks than cores are allowed, root too. Returns mpirun's exit code, or 128 + the signal that ended
/// it. The first SIGINT, SIGTERM or SIGUSR1 reaches the ranks as SIGUSR1 (save and stop), the next SIGINT or SIGTERM
/// ends them. Throws InputError under a launcher or in a Slurm job, which set the number themselves; SystemError if
/// there is no mpirun that it knows.
int start_ranks(int ranks, const std::vector<std::string>& command);

}  // namespace plumbline
