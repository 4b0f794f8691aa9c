// SPDX-License-Identifier: BSD-3-Clause
// The descendants of a child process by /proc: finds them in any session or group, ends and reaps them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/process_state.hpp"

namespace plumbline {

/// The main thread's switches, from /proc/<pid>/status: one for each poll while it waits. nullopt if it is gone or a
/// zombie. All functions here throw SystemError if /proc cannot be read, for example at the limit of open files.
std::optional<std::int64_t> voluntary_switches(pid_t pid);

/// All living processes with the mark of a tree that process `maker` created, wherever they are now.
std::vector<pid_t> processes_marked_by(pid_t maker);

/// All descendants of a child that is started from now on. The caller becomes the kernel's "child subreaper", so that
/// orphaned descendants become its children and cannot leave the tree. Existing children are not affected. Several
/// trees may live at once: an orphan belongs to the tree that saw it before or whose mark it has, otherwise to the
/// last tree. While a tree lives, the caller must not start processes outside of trees.
class ProcessTree {
 public:
  ProcessTree();
  ~ProcessTree();
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;
  /// "NAME=value", for the child's environment; its descendants inherit it.
  const std::string& mark() const { return mark_; }
  /// Sets the started child.
  void begins_with(pid_t root);
  /// Every living process of the tree, parents before their children.
  std::vector<ProcessState> living() const;
  bool contains(pid_t pid) const;
  /// Reaps ended children except `but`, whose status the caller needs.
  void reap(pid_t but) const;
  /// Sends SIGKILL to all living processes except `but`.
  void kill_all_but(pid_t but) const;
  /// Ends the tree of `root`, a child: SIGTERM to the root, a launcher that ends its ranks (to all, if the root is
  /// gone); after `grace` SIGKILL to all but the root, which then ends by itself; 0.5 s later to the root, too. Reaps
  /// all but the root. Returns pids that SIGKILL did not end within another 5 s: none except for processes that hang in
  /// the kernel.
  std::vector<pid_t> end(std::chrono::milliseconds grace, pid_t root) const;
  /// Ends remaining processes after an error: immediately, retrying for 10 s if /proc cannot be read.
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

/// Counts the processes of one program that a launch has started.
class StartedProcesses {
 public:
  /// `program`: the path used to start it.
  StartedProcesses(std::string program, const ProcessTree& tree) : program_(std::move(program)), tree_(tree) {}

  /// Inspects every process of the tree and counts new ones.
  void glance();
  std::int64_t count() const { return static_cast<std::int64_t>(seen_.size()); }

 private:
  std::string program_;
  const ProcessTree& tree_;
  std::set<pid_t> seen_;
  std::set<pid_t> below_;  ///< descendants of counted ones
};

}  // namespace plumbline
