// SPDX-License-Identifier: BSD-3-Clause
// A signal that asks a run to save and stop.
#pragma once

namespace plumbline {

/// In its lifetime SIGUSR1 (and, in a program of one process, SIGTERM) only sets a flag. mpirun forwards SIGUSR1 to all
/// ranks, but on SIGTERM it kills them at once, so that they could not save.
class SaveSignal {
 public:
  explicit SaveSignal(bool one_process);
  ~SaveSignal();
  SaveSignal(const SaveSignal&) = delete;
  SaveSignal& operator=(const SaveSignal&) = delete;

  static bool asked();

 private:
  bool one_process_;
};

}  // namespace plumbline
