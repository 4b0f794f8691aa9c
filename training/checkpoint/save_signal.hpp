// SPDX-License-Identifier: BSD-3-Clause
// A signal that asks a run to save and to end.
#pragma once

namespace plumbline {

/// While it lives, SIGUSR1 (and SIGTERM, of a program of one process) sets a flag and does nothing else. mpirun hands
/// SIGUSR1 on to all ranks, while on SIGTERM it kills them at once, so that they could not save.
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
