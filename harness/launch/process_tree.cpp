#include "harness/launch/process_tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "support/numbers.hpp"

namespace plumbline {
namespace {

std::vector<ProcessState> all_processes() {
  std::vector<ProcessState> processes;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return processes;
  while (const dirent* entry = readdir(proc)) {
    if (const auto pid = parse_integer(entry->d_name)) {
      if (const auto process = process_state(static_cast<pid_t>(*pid))) processes.push_back(*process);
    }
  }
  closedir(proc);
  return processes;
}

/// All trees of this process, and what guards them and what they have seen.
struct Trees {
  std::mutex mutex;
  std::set<const ProcessTree*> living;
  std::int64_t made = 0;
};

Trees& trees() {
  static Trees all;
  return all;
}

bool was_started_with(pid_t pid, const std::string& variable) {
  std::ifstream environment("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string each; std::getline(environment, each, '\0');) {
    if (each == variable) return true;
  }
  return false;
}

}  // namespace

std::optional<ProcessState> process_state(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(stat, line);
  // "pid (name) state parent ...": the name may hold blanks and brackets, so the last bracket counts.
  const auto bracket = line.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(bracket + 1));
  ProcessState process;
  process.pid = pid;
  if (!(rest >> process.state >> process.parent)) return std::nullopt;
  return process;
}

std::optional<ProcessStatus> process_status(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  ProcessStatus status;
  for (std::string word; file >> word;) {
    std::int64_t number = 0;
    if (word == "VmHWM:" && file >> number) status.peak_bytes = number * 1024;
    if ((word == "RssAnon:" || word == "RssShmem:") && file >> number) status.private_bytes += number * 1024;
    if (word == "voluntary_ctxt_switches:" && file >> number) status.naps = number;
  }
  return status.peak_bytes > 0 ? std::optional(status) : std::nullopt;
}

ProcessTree::ProcessTree() : self_(getpid()) {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  for (const auto& process : all_processes()) {
    if (process.parent == self_) before_.insert(process.pid);
  }
  const std::lock_guard lock(trees().mutex);
  trees().living.insert(this);
  mark_ = "LAUNCHED_BY_PLUMBLINE=" + std::to_string(self_) + "-" + std::to_string(++trees().made);
}

ProcessTree::~ProcessTree() {
  const std::lock_guard lock(trees().mutex);
  trees().living.erase(this);
}

void ProcessTree::begins_with(pid_t root) {
  const std::lock_guard lock(trees().mutex);
  root_ = root;
}

/// Of a child of this process that was not there before; the trees are locked.
bool ProcessTree::claims(pid_t child) const {
  if (child == root_ || seen_.contains(child)) return true;
  bool alone = true;
  for (const ProcessTree* tree : trees().living) {
    if (tree == this) continue;
    if (tree->root_ == child || tree->seen_.contains(child)) return false;
    alone = false;
  }
  return alone || was_started_with(child, mark_);
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
  return std::all_of(left.begin(), left.end(), [&](const ProcessState& process) { return process.pid == root; });
}

/// Also of one whose first thread has ended, which looks like a zombie though its others run.
void ProcessTree::kill_all_but(pid_t but) const {
  for (const auto& process : members()) {
    if (process.pid != but) kill(process.pid, SIGKILL);
  }
}

std::vector<pid_t> ProcessTree::end(std::chrono::milliseconds grace, pid_t root) const {
  using Clock = std::chrono::steady_clock;
  const auto kill_ranks_from = Clock::now() + grace;
  const auto kill_root_from = kill_ranks_from + std::chrono::milliseconds(500);
  const auto give_up = kill_root_from + std::chrono::seconds(5);
  std::set<pid_t> asked;
  for (;;) {
    const auto left = living();
    reap(root);
    const auto now = Clock::now();
    // A process whose first thread has ended stays until its others have, which takes time on a busy machine.
    if (left.empty() && (now >= kill_root_from || only_root_is_left(root))) return {};
    if (now >= give_up) {
      std::vector<pid_t> unkillable;
      for (const auto& process : left) unkillable.push_back(process.pid);
      return unkillable;
    }
    const bool root_lives =
        std::any_of(left.begin(), left.end(), [&](const ProcessState& process) { return process.pid == root; });
    if (now >= kill_ranks_from) {
      kill_all_but(now >= kill_root_from ? 0 : root);
    } else {
      for (const auto& process : left) {
        if (root_lives && process.pid != root) continue;
        if (asked.insert(process.pid).second) kill(process.pid, SIGTERM);
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace plumbline
