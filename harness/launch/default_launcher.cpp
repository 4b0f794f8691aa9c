// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/default_launcher.hpp"

#include <cstdlib>
#include <optional>

#include "harness/launch/launcher.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/mpi_launcher.hpp"

namespace plumbline {
namespace {

/// nullopt if there is no such program.
std::optional<std::string> version_of(const std::string& program) {
  LaunchFinding finding;
  std::string answer;
  try {
    const ScratchFolder answers;
    Launch question;
    question.command = {program, "--version"};
    question.folder = answers.path();
    question.time_limit = std::chrono::seconds(30);
    StopSignals signals;
    finding = launch(question, signals);
    answer = read_file(question.folder / "stdout.txt") + read_file(question.folder / "stderr.txt");
  } catch (const SystemError&) {
    return std::nullopt;
  }
  if (finding.interrupted) throw SystemError(finding.words + " before anything was started");
  return answer;
}

std::string found_launcher() {
  for (const std::string program : {mpirun, "mpiexec", "srun"}) {
    // Outside of a Slurm job srun would wait for an allocation.
    if (program == "srun" && std::getenv("SLURM_JOB_ID") == nullptr) continue;
    const auto version = version_of(program);
    if (!version) continue;
    const std::string command = launcher_command(mpi_launcher_of(*version), program);
    if (!command.empty()) return command;
  }
  return launcher_command(MpiLauncher::open_mpi_4, mpirun);
}

}  // namespace

const std::string& default_launcher() {
  static const std::string text = found_launcher();
  return text;
}

}  // namespace plumbline
