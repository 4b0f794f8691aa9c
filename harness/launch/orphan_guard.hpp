// SPDX-License-Identifier: BSD-3-Clause
// Ends the processes of a launch after its own process was killed.
#pragma once

namespace plumbline {

/// Starts a guard process (only once per process). If this process disappears without having ended its launches
/// (SIGKILL, out of memory), their commands get SIGTERM at once, with which a launcher ends its ranks, and after 2 s
/// the guard sends SIGKILL to all processes with a mark of this one's trees (ProcessTree). The guard ends with this
/// process. Call it before the first ProcessTree, which would otherwise include the guard. Throws SystemError if no
/// process can be started.
void guard_against_orphans();

}  // namespace plumbline
