// SPDX-License-Identifier: BSD-3-Clause
// What ends a launch whose own process was killed.
#pragma once

namespace plumbline {

/// Starts a process beside this one, once however often it is called. Where this one is gone without having ended what
/// it launched (SIGKILL, out of memory), the other ends, with SIGKILL after 2 s, all that bears a mark of this one's
/// trees (ProcessTree). Those of a command that is a launcher are ended by it before, which gets SIGTERM at once. It is
/// ended with this process. To be called before a tree is made, which would take it for its own. Throws SystemError
/// where no process can be made.
void guard_against_orphans();

}  // namespace plumbline
