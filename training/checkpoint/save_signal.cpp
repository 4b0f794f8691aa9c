// SPDX-License-Identifier: BSD-3-Clause
#include "training/checkpoint/save_signal.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace plumbline {
namespace {

constexpr std::array signals = {SIGUSR1, SIGINT, SIGTERM};
constexpr std::int64_t second_ns = 1'000'000'000;

// Lock-free, as a handler needs them.
std::atomic<bool> save_asked = false, user_asks = false;
std::atomic<std::int64_t> first_ns = 0;  // of the first SIGINT or SIGTERM; 0: none yet

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * second_ns + now.tv_nsec;
}

void ask(int signal) {
  save_asked = true;
  if (signal == SIGUSR1) return;  // a scheduler may send it again, and SIGTERM later
  const std::int64_t now = now_ns();
  std::int64_t first = 0;
  if (first_ns.compare_exchange_strong(first, now)) {
    constexpr std::string_view note = "\nnote: saves after this step and stops; a second signal ends it at once\n";
    [[maybe_unused]] const auto told = user_asks ? write(STDERR_FILENO, note.data(), note.size()) : 0;
  } else if (user_asks || now - first >= second_ns) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // takes effect when this handler returns
  }
}

}  // namespace

SaveSignal::SaveSignal(bool one_process) {
  save_asked = false;
  user_asks = one_process;
  first_ns = 0;
  struct sigaction action {};
  action.sa_handler = ask;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &action, &before_[i]);
}

SaveSignal::~SaveSignal() {
  for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
}

bool SaveSignal::asked() {
  return save_asked;
}

}  // namespace plumbline
