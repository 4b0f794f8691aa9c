// SPDX-License-Identifier: BSD-3-Clause
// A signal that asks a run to save and stop.
#pragma once

#include <array>
#include <csignal>

namespace plumbline {

/// In its lifetime SIGUSR1, SIGINT and SIGTERM only set a flag; a second SIGINT or SIGTERM ends the process as usual. A
/// SIGINT that was ignored (as in a shell's background) counts, because it is then sent on purpose.
class SaveSignal {
 public:
  /// `one_process`: what it is sent comes from the user. A launcher may hand one signal to its processes twice (Ctrl-C
  /// reaches the terminal's processes, too), so in a job of several those within a second are one.
  explicit SaveSignal(bool one_process);
  ~SaveSignal();
  SaveSignal(const SaveSignal&) = delete;
  SaveSignal& operator=(const SaveSignal&) = delete;

  static bool asked();

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace plumbline
