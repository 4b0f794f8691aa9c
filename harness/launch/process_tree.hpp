// SPDX-License-Identifier: BSD-3-Clause
// The processes below one of ours, as /proc shows them: found whatever session or group they moved to, ended, and
// reaped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace plumbline {

struct ProcessState {
  pid_t pid = 0;
  pid_t parent = 0;
  char state =
      '?';  ///< as in /proc/<pid>/stat: R, S, D, T (stopped), t (stopped by a tracer), Z (ended, not yet reaped)
  bool alive() const { return state != 'Z' && state != 'X'; }
};

/// Nothing when there is no such process. Here and below: throws SystemError where /proc cannot be looked at, as when
/// no more files may be opened.
std::optional<ProcessState> process_state(pid_t pid);
/// Of /proc/<pid>/status.
struct ProcessStatus {
  std::int64_t peak_bytes = 0;     ///< VmHWM: the most that was ever resident, pages of files that were read among it
  std::int64_t private_bytes = 0;  ///< RssAnon + RssShmem: what is resident now and no page of a file
  std::int64_t naps = 0;  ///< how often its main thread gave up its core by itself: once a poll of one that waits
};
/// Nothing when it is gone or a zombie.
std::optional<ProcessStatus> process_status(pid_t pid);

/// All living processes that bear the mark of a tree that process `maker` made, wherever they are by now.
std::vector<pid_t> processes_marked_by(pid_t maker);

/// All processes that come to be below a child of this one from now on. The caller becomes the kernel's "child
/// subreaper", so that a process whose parent ends becomes our child and cannot leave the tree. Children that were
/// there before are left alone. Several trees may live at once: a process without a parent of its own then belongs to
/// the one that has seen it before or whose mark it was started with, and to the last tree where it is no other's;
/// while a tree lives the caller starts no process that is in none.
class ProcessTree {
 public:
  ProcessTree();
  ~ProcessTree();
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;
  /// "NAME=value", for the environment of what is started: it stays with whatever that starts in turn.
  const std::string& mark() const { return mark_; }
  /// The child that has been started.
  void begins_with(pid_t root);
  /// Every living process of the tree, a parent before its children.
  std::vector<ProcessState> living() const;
  bool contains(pid_t pid) const;
  /// Reaps our ended children but `but`, whose status the caller wants.
  void reap(pid_t but) const;
  /// SIGKILL to all living but `but`.
  void kill_all_but(pid_t but) const;
  /// Ends the tree below `root`, a child of ours: SIGTERM to the root, which as a launcher ends its ranks (to all,
  /// where the root has gone already); after `grace` SIGKILL to all but the root, which then ends by itself; 0.5 s
  /// later to the root too. Reaps all but the root. Returns pids that even SIGKILL did not end within 5 s more: none,
  /// but for a process that hangs inside the kernel.
  std::vector<pid_t> end(std::chrono::milliseconds grace, pid_t root) const;
  /// Ends what was begun, where an error leaves it: at once, and also while /proc cannot be looked at, for 10 s.
  void abandon() const noexcept;

 private:
  std::vector<ProcessState> members() const;
  bool only_root_is_left(pid_t root) const;
  bool claims(pid_t child) const;
  pid_t self_, root_ = 0;
  std::string mark_;
  std::set<pid_t> before_;
  mutable std::set<pid_t> seen_;
};

}  // namespace plumbline
