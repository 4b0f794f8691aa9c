// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/save_signal.hpp"

#include <csignal>

namespace plumbline {
namespace {

volatile std::sig_atomic_t save_asked = 0;

void ask(int /*signal*/) {
  save_asked = 1;
}

void handle(int signal, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

}  // namespace

SaveSignal::SaveSignal(bool one_process) : one_process_(one_process) {
  save_asked = 0;
  handle(SIGUSR1, ask);
  if (one_process_) handle(SIGTERM, ask);
}

SaveSignal::~SaveSignal() {
  handle(SIGUSR1, SIG_DFL);
  if (one_process_) handle(SIGTERM, SIG_DFL);
}

bool SaveSignal::asked() {
  return save_asked != 0;
}

}  // namespace plumbline
