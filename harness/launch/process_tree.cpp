// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/process_tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "support/error.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

std::vector<ProcessState> all_processes() {
  std::vector<ProcessState> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (!proc) fail_without_proc(errno);
  while (const dirent* entry = readdir(proc.get())) {
    if (const auto pid = parse_integer(entry->d_name)) {
      if (const auto process = process_state(static_cast<pid_t>(*pid))) processes.push_back(*process);
    }
  }
  return processes;
}

/// All trees of this process, with their mutex and the processes seen.
struct Trees {
  std::mutex mutex;
  std::set<const ProcessTree*> living;
  std::int64_t made = 0;
};

Trees& trees() {
  static Trees all;
  return all;
}

const std::string mark_name = "LAUNCHED_BY_PLUMBLINE=";

/// The mark that a process was started with; empty if it has none or belongs to another user.
std::string mark_of(pid_t pid) {
  std::ifstream environment = process_file(pid, "environ");
  for (std::string each; std::getline(environment, each, '\0');) {
    if (each.starts_with(mark_name)) return each;
  }
  return "";
}

/// Prefix of the marks of all trees of a process; a number per tree follows.
std::string marks_begin(pid_t maker) {
  return mark_name + std::to_string(maker) + "-";
}

/// True if a child has ended with all its threads: if only its first thread has, it looks like a zombie.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == child;
}

}  // namespace

std::optional<std::int64_t> voluntary_switches(pid_t pid) {
  std::ifstream file = process_file(pid, "status");
  std::string word, state;
  for (std::int64_t switches = 0; file >> word;) {
    if (word == "State:") file >> state;
    if (word == "voluntary_ctxt_switches:" && state != "Z" && state != "X" && file >> switches) return switches;
  }
  return std::nullopt;
}

std::vector<pid_t> processes_marked_by(pid_t maker) {
  const std::string begin = marks_begin(maker);
  std::vector<pid_t> marked;
  for (const auto& process : all_processes()) {
    if (process.alive() && mark_of(process.pid).starts_with(begin)) marked.push_back(process.pid);
  }
  return marked;
}

ProcessTree::ProcessTree() : self_(getpid()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  for (const auto& process : all_processes()) {
    if (process.parent == self_) before_.insert(process.pid);
  }
  const std::lock_guard lock(trees().mutex);
  trees().living.insert(this);
  mark_ = marks_begin(self_) + std::to_string(++trees().made);
}

ProcessTree::~ProcessTree() {
  const std::lock_guard lock(trees().mutex);
  trees().living.erase(this);
}

void ProcessTree::begins_with(pid_t root) {
  const std::lock_guard lock(trees().mutex);
  root_ = root;
}

/// The tree of a new child of this process; requires the lock.
bool ProcessTree::claims(pid_t child) const {
  if (child == root_ || seen_.contains(child)) return true;
  bool alone = true;
  for (const ProcessTree* tree : trees().living) {
    if (tree == this) continue;
    if (tree->root_ == child || tree->seen_.contains(child)) return false;
    alone = false;
  }
  return alone || mark_of(child) == mark_;
}

std::vector<ProcessState> ProcessTree::members() const {
  std::map<pid_t, std::vector<ProcessState>> children;
  for (const auto& process : all_processes()) children[process.parent].push_back(process);
  const std::lock_guard lock(trees().mutex);
  std::vector<ProcessState> found;
  std::vector<pid_t> parents{self_};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    for (const auto& child : children[parent]) {
      if (parent == self_ && (before_.count(child.pid) != 0 || !claims(child.pid))) continue;
      found.push_back(child);
      parents.push_back(child.pid);
    }
  }
  for (const auto& process : found) seen_.insert(process.pid);
  return found;
}

std::vector<ProcessState> ProcessTree::living() const {
  std::vector<ProcessState> found;
  for (const auto& process : members()) {
    if (process.alive()) found.push_back(process);
  }
  return found;
}

bool ProcessTree::contains(pid_t pid) const {
  for (auto process = process_state(pid); process; process = process_state(process->parent)) {
    if (process->parent != self_) continue;
    const std::lock_guard lock(trees().mutex);
    return before_.count(process->pid) == 0 && claims(process->pid);
  }
  return false;
}

void ProcessTree::reap(pid_t but) const {
  for (const auto& process : members()) {
    if (process.parent == self_ && process.pid != but && !process.alive()) waitpid(process.pid, nullptr, WNOHANG);
  }
}

bool ProcessTree::only_root_is_left(pid_t root) const {
  const auto left = members();
  return std::ranges::all_of(left, [&](const ProcessState& process) { return process.pid == root; });
}

/// Includes processes whose first thread has ended, which look like zombies though other threads run.
void ProcessTree::kill_all_but(pid_t but) const {
  for (const auto& process : members()) {
    if (process.pid != but) kill(process.pid, SIGKILL);
  }
}

std::vector<pid_t> ProcessTree::end(std::chrono::milliseconds grace, pid_t root) const {
  using Clock = std::chrono::steady_clock;
  const auto kill_root = grace + std::chrono::milliseconds(500), give_up = kill_root + std::chrono::seconds(5);
  std::set<pid_t> requested;
  auto begin = Clock::now();
  for (bool first = grace.count() > 0;; first = false) {
    const auto left = living();
    reap(root);
    const auto passed = Clock::now() - begin;
    // A process whose first thread has ended remains until all others have, which takes time on a busy machine.
    const bool root_ended = has_ended(root);
    if (left.empty() && root_ended && (passed >= kill_root || only_root_is_left(root))) return {};
    const bool root_lives = std::ranges::any_of(left, [&](const ProcessState& process) { return process.pid == root; });
    if (passed >= give_up && !first) {
      std::vector<pid_t> unkillable;
      for (const auto& process : left) unkillable.push_back(process.pid);
      if (!root_lives && !root_ended) unkillable.push_back(root);
      return unkillable;
    }
    if (passed >= grace && !first) {
      kill_all_but(passed >= kill_root ? 0 : root);
    } else {
      for (const auto& process : left) {
        if (root_lives && process.pid != root) continue;
        if (requested.insert(process.pid).second) kill(process.pid, SIGTERM);
      }
      if (first) begin = Clock::now();  // on a busy machine too, a process is asked to end before it is killed
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void ProcessTree::abandon() const noexcept {
  using Clock = std::chrono::steady_clock;
  if (root_ == 0) return;
  for (const auto give_up = Clock::now() + std::chrono::seconds(10); Clock::now() < give_up;) {
    try {
      if (end(std::chrono::milliseconds(0), root_).empty()) waitpid(root_, nullptr, 0);
      return;
    } catch (const std::exception&) {  // the cause may be temporary
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  if (!has_ended(root_)) kill(root_, SIGKILL);
}

void StartedProcesses::glance() {
  for (const ProcessState& process : tree_.living()) {
    if (seen_.contains(process.pid)) continue;
    // Descendants of a counted process are not ranks. Parents come before their children.
    if (seen_.contains(process.parent) || below_.contains(process.parent)) {
      below_.insert(process.pid);
      continue;
    }
    std::ifstream words("/proc/" + std::to_string(process.pid) + "/cmdline", std::ios::binary);
    // The program itself, or a script by that name after its interpreter; in a launcher's command line it comes later.
    std::string first, second;
    std::getline(words, first, '\0');
    std::getline(words, second, '\0');
    if (first == program_ || second == program_) seen_.insert(process.pid);
  }
}

}  // namespace plumbline
