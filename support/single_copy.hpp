// SPDX-License-Identifier: BSD-3-Clause
// Whether MPI may copy messages straight from one rank's memory to another's on this machine.
#pragma once

namespace plumbline {

/// Whether a process may read the memory of one that it started (process_vm_readv). Containers without SYS_PTRACE may
/// forbid it; Open MPI then tries it anyway, and reports "Read -1, expected 65536, errno = 1" for each message. Cached.
bool single_copy_allowed();

}  // namespace plumbline
