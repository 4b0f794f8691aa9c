// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/orphan_guard.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "harness/launch/process_tree.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

constexpr std::chrono::milliseconds look{20};
/// 2 s for a launcher to end its ranks, or for a trainer that saves after SIGTERM. Counted in looks, not by the clock:
/// where processors are busy, the guard is as slow as those that it waits for.
constexpr int grace = 100;
/// Processes that SIGKILL has not ended by then, 10 s, hang in the kernel.
constexpr int give_up = 500;

void end_remaining_processes(pid_t launcher) {
  for (int looks = 0; looks < give_up; ++looks) {
    const auto left = processes_marked_by(launcher);
    if (left.empty()) return;
    for (const pid_t pid : left) {
      if (looks >= grace) kill(pid, SIGKILL);
    }
    std::this_thread::sleep_for(look);
  }
}

/// close_range needs glibc 2.34 and Linux 5.9; clusters have older ones.
void close_all_but_input() {
  close(STDOUT_FILENO);  // frees a descriptor for reading the folder, if all are in use
  std::vector<int> open_files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
    const auto number = parse_integer(entry.path().filename().string());
    if (number && *number > STDIN_FILENO) open_files.push_back(static_cast<int>(*number));
  }
  for (const int file : open_files) close(file);
}

/// Main function of the guard process. `life` becomes readable when no process has its write end open.
[[noreturn]] void watch_over(pid_t launcher, int life) {
  setsid();
  prctl(PR_SET_NAME, "orphan-guard");  // not "plumbline", so that killall plumbline spares it
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  // Closes inherited descriptors, so that pipes and locks of plumbline end with plumbline.
  dup2(life, STDIN_FILENO);
  close_all_but_input();
  open("/dev/null", O_WRONLY);
  open("/dev/null", O_WRONLY);
  char none = 0;
  while (read(STDIN_FILENO, &none, 1) < 0 && errno == EINTR) continue;
  try {
    end_remaining_processes(launcher);
  } catch (const SystemError&) {  // no process is left to report to
  }
  _exit(0);
}

class OrphanGuard {
 public:
  OrphanGuard() : launcher_(getpid()) {
    int life[2] = {-1, -1};
    if (pipe2(life, O_CLOEXEC) != 0) throw SystemError(std::string("cannot make a pipe: ") + std::strerror(errno));
    guard_ = fork();
    if (guard_ == 0) watch_over(launcher_, life[0]);
    const int why = errno;
    close(life[0]);
    life_ = life[1];
    if (guard_ > 0) return;
    close(life_);
    throw SystemError(std::string("cannot make a process: ") + std::strerror(why));
  }
  ~OrphanGuard() {
    close(life_);
    if (getpid() != launcher_) return;  // in a forked child
    kill(guard_, SIGKILL);
    waitpid(guard_, nullptr, 0);
  }
  OrphanGuard(const OrphanGuard&) = delete;
  OrphanGuard& operator=(const OrphanGuard&) = delete;
  pid_t launcher() const { return launcher_; }

 private:
  pid_t launcher_, guard_ = 0;
  int life_ = -1;
};

}  // namespace

void guard_against_orphans() {
  static std::mutex mutex;
  static std::unique_ptr<OrphanGuard> guard;
  const std::lock_guard lock(mutex);
  if (guard && guard->launcher() == getpid()) return;
  guard.reset();
  guard = std::make_unique<OrphanGuard>();
}

}  // namespace plumbline
