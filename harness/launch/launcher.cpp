// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/launcher.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>

#include "harness/launch/bounded_output.hpp"
#include "harness/launch/explain_end.hpp"
#include "harness/launch/launcher_fault.hpp"
#include "harness/launch/orphan_guard.hpp"
#include "harness/launch/process_tree.hpp"
#include "harness/launch/rank_watch.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/mpi_launcher.hpp"
#include "support/single_copy.hpp"

extern char** environ;

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds poll_interval{20};
/// Upper bound of the counted time between two polls: if it is longer, this process was suspended, perhaps with its
/// ranks (a paused container).
constexpr milliseconds longest_poll_gap{1000};
/// A launcher with ranks on other hosts ends them through processes that it started here (ssh), which takes seconds.
constexpr int times_the_grace_for_other_hosts = 5;

/// Our environment with additions for runs; settings of the user for Open MPI take precedence.
std::vector<std::string> run_environment(const Launch& launch, const std::string& scratch, const std::string& mark) {
  std::map<std::string, std::string> values;
  const std::string marked = mark.substr(0, mark.find('='));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string::npos && text.substr(0, equals) != marked)
      values[text.substr(0, equals)] = text.substr(equals + 1);
  }
  values["OMP_NUM_THREADS"] = "1";
  values["TMPDIR"] = scratch;
  for (const auto& [key, value] : launcher_environment(scratch, getuid() == 0)) values[key] = value;
  if (!single_copy_allowed()) values.merge(single_copy_variables());
  for (const auto& [key, value] : launch.environment) values[key] = value;
  std::vector<std::string> environment;
  for (const auto& [key, value] : values) environment.push_back(key + "=" + value);
  environment.push_back(mark);
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (auto& text : texts) found.push_back(text.data());
  found.push_back(nullptr);
  return found;
}

/// The child's work between fork and exec: only calls that are safe while other threads of the parent hold locks.
[[noreturn]] void become(const char* program, char** arguments, char** environment, const char* folder, int out,
                         int error, int report, pid_t parent) {
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (getppid() != parent) _exit(127);  // the parent died before the line above
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGXFSZ, SIG_DFL);  // run_main ignores it
  if (*folder == '\0' || chdir(folder) == 0) execve(program, arguments, environment);
  const int why = errno;
  [[maybe_unused]] const auto written = write(report, &why, sizeof why);
  _exit(127);
}

pid_t start(const Launch& launch, const fs::path& program, const std::string& scratch, ProcessTree& tree,
            BoundedOutput& out, BoundedOutput& error) {
  std::vector<std::string> command = launch.command;
  std::vector<std::string> environment = run_environment(launch, scratch, tree.mark());
  std::vector<char*> arguments = pointers(command), variables = pointers(environment);
  int report[2] = {-1, -1};
  if (pipe2(report, O_CLOEXEC) != 0) throw SystemError(std::string("cannot make a pipe: ") + std::strerror(errno));
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    become(program.c_str(), arguments.data(), variables.data(), launch.working_folder.c_str(), out.inlet(),
           error.inlet(), report[1], parent);
  }
  const int fork_error = errno;
  close(report[1]);
  int why = child < 0 ? fork_error : 0;
  if (child > 0 && read(report[0], &why, sizeof why) == sizeof why) waitpid(child, nullptr, 0);
  close(report[0]);
  if (why != 0) throw SystemError(program.string() + ": cannot start (" + std::strerror(why) + ")");
  tree.begins_with(child);
  out.started();
  error.started();
  return child;
}

/// Ends the launch if an exception is thrown.
struct UnderWay {
  explicit UnderWay(const ProcessTree& processes) : tree(processes) {}
  ~UnderWay() {
    if (!ended) tree.abandon();
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  const ProcessTree& tree;
  bool ended = false;
};

/// 128 + signal for a process that a signal ended, as in shells.
int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// The world size in a record; nullopt if its ranks are threads of one process, or if it is unknown.
std::optional<std::int64_t> claimed_world(const fs::path& record) {
  try {
    const Json manifest = read_json(record / "manifest.json");
    if (manifest.at("transport") == "threads") return std::nullopt;
    return manifest.at("world_size").get<std::int64_t>();
  } catch (const std::exception&) {  // not written yet, or invalid, which the judge reports
    return std::nullopt;
  }
}

/// Detects that a rank, or the command itself while no rank was seen, has been stopped (SIGSTOP) for too long.
class StoppedStart {
 public:
  StoppedStart(const RankWatch& watch, pid_t child, milliseconds limit) : watch_(watch), child_(child), limit_(limit) {}
  bool lasts(Clock::time_point now) {
    if (watch_.all_seen()) return false;
    const auto command = process_state(child_);
    const bool stopped = !watch_.any_seen() && command && command->state == 'T';
    if (!stopped) running_until_ = now;
    return now - running_until_ >= limit_ || watch_.stopped_before_its_start() >= limit_;
  }

 private:
  const RankWatch& watch_;
  pid_t child_;
  milliseconds limit_;
  Clock::time_point running_until_ = Clock::now();  ///< when the command was last seen not to be stopped
};

/// Throws SystemError if the launcher itself failed.
void refuse_launcher_fault(const Launch& launch, const LaunchFinding& finding, bool any_rank, std::int64_t processes) {
  const auto fault = launcher_fault({.launcher = launch.command.front(),
                                     .program = launch.speaker,
                                     .requested = launch.ranks,
                                     .processes = processes,
                                     .any_rank = any_rank,
                                     .world_size = claimed_world(launch.record),
                                     .exit_code = finding.exit_code,
                                     .timed_out = finding.timed_out,
                                     .errors = read_file(launch.folder / "stderr.txt"),
                                     .folder = launch.folder.string()});
  if (fault) throw SystemError(*fault);
}

}  // namespace

fs::path find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), X_OK) == 0) return fs::absolute(name);
    throw SystemError(name + ": no such program; build it, or give the folder of the trainers with --trainers");
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (access(candidate.c_str(), X_OK) == 0 && !fs::is_directory(candidate)) return candidate;
  }
  throw SystemError(name + " is not on PATH; " + how_to_install(name) +
                    ", or name another launcher in the sweep file (key launcher)");
}

std::int64_t free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  const bool found = probe >= 0 && bind(probe, plain, size) == 0 && getsockname(probe, plain, &size) == 0;
  const int why = errno;
  if (probe >= 0) close(probe);
  if (!found) throw SystemError(std::string("cannot find a free port: ") + std::strerror(why));
  return ntohs(address.sin_port);
}

LaunchFinding launch(const Launch& launch, StopSignals& signals) {
  const fs::path program = find_program(launch.command.front());
  guard_against_orphans();
  const ScratchFolder scratch(launch.ranks == 0 ? 0 : ScratchFolder::bytes_for(launch.ranks));
  ProcessTree tree;
  RankWatch watch(launch.record, launch.ranks, tree);
  StartedProcesses processes(launch.program, tree);
  const auto begin = Clock::now();
  UnderWay under_way(tree);  // before the outputs, so that it is destroyed after them
  BoundedOutput out(launch.folder / "stdout.txt"), error(launch.folder / "stderr.txt");
  const pid_t child = start(launch, program, scratch.path(), tree, out, error);

  LaunchFinding finding;
  std::optional<int> status;
  auto last_poll = begin;
  Clock::duration lasted{0};
  StoppedStart stopped_start(watch, child, launch.stopped_start_limit);
  std::optional<Clock::time_point> trouble_since;
  std::optional<std::vector<RankSight>> seen_before_the_end;
  const auto take_status = [&](int options) {
    int raw = 0;
    if (!status && waitpid(child, &raw, options) == child) status = raw;
  };
  for (;;) {
    watch.glance();
    // Stop counting after all ranks have been seen, because scanning all processes of a machine takes time.
    if (!launch.program.empty() && processes.count() < launch.ranks && !watch.all_seen()) processes.glance();
    take_status(WNOHANG);
    const auto now = Clock::now();
    if (status) break;
    if (signals.stop_requested()) finding.interrupted = true;
    lasted += std::min<Clock::duration>(now - last_poll, longest_poll_gap);
    last_poll = now;
    if (lasted >= launch.time_limit) finding.timed_out = true;
    if (watch.trouble() && !trouble_since) trouble_since = now;
    if (finding.interrupted || finding.timed_out || stopped_start.lasts(now)) break;
    // A launcher that notices a dead rank ends the others and then reports it: wait for that. If it is slow, end the
    // ranks first, and then the launcher.
    const milliseconds grace = (watch.all_seen() ? 1 : times_the_grace_for_other_hosts) * launch.grace;
    if (trouble_since && now - *trouble_since >= grace && !seen_before_the_end) {
      seen_before_the_end = watch.sights();
      tree.kill_all_but(child);
    }
    if (trouble_since && now - *trouble_since >= 2 * grace) break;
    if (launch.at_glance) launch.at_glance();
    signals.wait(poll_interval);
  }
  const bool ended_for_its_stop =
      !status && !finding.interrupted && !finding.timed_out && stopped_start.lasts(last_poll);
  finding.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const bool ended_itself = status.has_value();
  const auto state = process_state(child);
  const bool launcher_stopped = state && state->state == 'T' && !watch.is_rank(child);
  // Inspect the ranks before ending the tree: later actions do not explain the failure.
  watch.glance();
  const auto sights = seen_before_the_end.value_or(watch.sights());
  const bool any_seen = watch.any_seen();
  std::error_code unknown;
  const auto said_before = fs::file_size(launch.folder / "stderr.txt", unknown);
  const auto left_over = std::ssize(tree.living());  // excludes the command's own process if it has ended
  const auto unkillable = tree.end(trouble_since ? launch.grace / 4 : launch.grace, child);
  if (unkillable.empty()) take_status(0);
  tree.reap(child);
  under_way.ended = true;
  out.finish();
  error.finish();
  finding.exit_code = status ? exit_code_of(*status) : 128 + SIGKILL;
  if (!launch.program.empty() && !finding.interrupted) {
    refuse_launcher_fault(launch, finding, any_seen, processes.count());
  }
  if (finding.interrupted) {
    finding.words = std::string("stopped by ") + signals.name();
  } else if (launch.ranks > 0 && (!ended_itself || finding.exit_code != 0 || watch.trouble())) {
    // The signal that ended a launcher did not end its ranks.
    const auto signal = ended_itself && WIFSIGNALED(*status) ? std::optional(WTERMSIG(*status)) : std::nullopt;
    LaunchEnd end{launch, sights, any_seen};
    (watch.is_rank(child) ? end.own_signal : end.launcher_signal) = signal;
    end.launcher_stopped = launcher_stopped;
    end.by_itself = ended_itself;
    if (finding.timed_out && !unknown) end.said_before = said_before;
    explain(end, finding);
    if (ended_for_its_stop)
      finding.words += ", for " + std::to_string(launch.stopped_start_limit.count() / 1000) +
                       " s: nothing else detects this, so the run was ended";
  } else if (left_over > 0 && !all_ended_well(sights)) {
    finding.words = launch.command.front() + " ended with code 0 and left " + std::to_string(left_over) +
                    (left_over == 1 ? " process" : " processes") +
                    " running in the background, which the sweep killed: a command must not end before its ranks";
  }
  if (!unkillable.empty()) {
    if (!finding.words.empty()) finding.words += "; ";
    finding.words += "processes that could not be killed: " + std::to_string(unkillable.size());
  }
  return finding;
}

}  // namespace plumbline
