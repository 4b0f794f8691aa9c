// SPDX-License-Identifier: BSD-3-Clause
// --ranks: this program starts its own ranks on this machine.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include "pipeline/launch.hpp"
#include "support/error.hpp"
#include "support/mpi_launcher.hpp"
#include "support/single_copy.hpp"

namespace plumbline {
namespace {

/// Empty if there is no such program.
std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) throw SystemError(command + ": cannot be started (" + std::strerror(errno) + ")");
  std::array<char, 512> part{};
  while (const auto size = std::fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), size);
  pclose(pipe);
  return output;
}

/// The launcher's words with the number of ranks, then the program and its arguments without --ranks.
std::vector<std::string> launched_words(const std::string& launcher, int ranks,
                                        const std::vector<std::string>& command) {
  std::vector<std::string> words;
  std::istringstream text(launcher);
  for (std::string word; text >> word;) words.push_back(word == "{world}" ? std::to_string(ranks) : word);
  words.push_back(std::filesystem::read_symlink("/proc/self/exe"));
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == "--ranks") {
      ++i;
    } else if (!command[i].starts_with("--ranks=")) {
      words.push_back(command[i]);
    }
  }
  return words;
}

/// In a process group of its own, so that a terminal's Ctrl-C reaches this process alone: mpirun would end its ranks.
int waited_for(std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  sigset_t watched, before;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGCHLD}) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, &before);
  const pid_t parent = getpid(), launcher = fork();
  if (launcher < 0) throw SystemError(words[0] + ": cannot be started (" + std::strerror(errno) + ")");
  if (launcher == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent) _exit(127);
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);  // a background process may not read the terminal
    sigprocmask(SIG_SETMASK, &before, nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  bool asked = false;
  for (int status = 0;;) {
    const int signal = sigwaitinfo(&watched, nullptr);
    if (waitpid(launcher, &status, WNOHANG) == launcher)
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (signal <= 0 || signal == SIGCHLD) continue;
    const bool save = signal == SIGUSR1 || (signal != SIGHUP && !std::exchange(asked, true));
    kill(launcher, save ? SIGUSR1 : SIGTERM);
  }
}

}  // namespace

int start_ranks(int ranks, const std::vector<std::string>& command) {
  if (started_by_a_launcher())
    throw InputError(
        "--ranks: mpirun or srun started this process and sets the number of ranks; remove one of the two");
  if (std::getenv("SLURM_JOB_ID") != nullptr)
    throw InputError("--ranks starts ranks on one machine, and this is a Slurm job; start them with srun -n " +
                     std::to_string(ranks));
  const std::string version = output_of(std::string(mpirun) + " --version");
  if (version.empty())
    throw SystemError(std::string("--ranks needs ") + mpirun + ", which is not on PATH; " + how_to_install(mpirun) +
                      ". Or use --transport threads");
  const std::string launcher = launcher_command(mpi_launcher_of(version), mpirun);
  if (launcher.empty())
    throw SystemError(std::string("--ranks: ") + mpirun + " --version is of an unknown MPI (\"" +
                      version.substr(0, version.find('\n')) + "\"); start the ranks yourself, without --ranks");
  std::vector<std::string> words = launched_words(launcher, ranks, command);
  auto variables = launcher_environment("", getuid() == 0);
  if (!single_copy_allowed()) variables.merge(single_copy_variables());
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 0);  // the user's own win
  return waited_for(words);
}

}  // namespace plumbline
