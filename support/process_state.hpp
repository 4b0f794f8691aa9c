// SPDX-License-Identifier: BSD-3-Clause
// The state of a process, from /proc.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <optional>

namespace plumbline {

struct ProcessState {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';  ///< of /proc/<pid>/stat: R, S, D, T (stopped), t (by a tracer), Z (ended, not yet reaped)
  bool alive() const { return state != 'Z' && state != 'X'; }
  bool stopped() const { return state == 'T' || state == 't'; }
};

/// nullopt if there is no such process. Throws as process_file does.
std::optional<ProcessState> process_state(pid_t pid);

/// A file of a process in /proc. Throws SystemError if it could not be opened even if the process existed.
std::ifstream process_file(pid_t pid, const char* name);

/// Fails instead of treating invisible processes as ended: throws SystemError.
[[noreturn]] void fail_without_proc(int error);

}  // namespace plumbline
