// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/launcher_fault.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include "harness/launch/last_error_line.hpp"
#include "support/plain_text.hpp"
#include "support/signals.hpp"

namespace plumbline {
namespace {

constexpr const char* correct_it = "; correct the key launcher of the sweep file";

/// The message about too few slots of Open MPI or Slurm.
std::optional<std::string> slots_line(const std::string& errors) {
  constexpr std::array signs = {"not enough slots available", "allocated for this job are already filled",
                                "More processors requested than permitted"};
  std::istringstream lines(errors);
  for (std::string line; std::getline(lines, line);) {
    const bool is_slots = std::ranges::any_of(signs, [&](const char* sign) { return line.find(sign) != line.npos; });
    if (!is_slots) continue;
    std::string next;  // Open MPI wraps the sentence
    if (std::getline(lines, next) && !next.empty()) line += " " + next;
    return printable(line);
  }
  return std::nullopt;
}

/// Our trainers' message under the launcher of another MPI, without their name.
std::optional<std::string> alone_line(const std::string& errors) {
  const auto sign = errors.find("each alone in its MPI world");
  if (sign == std::string::npos) return std::nullopt;
  const auto begin = errors.rfind('\n', sign) + 1;  // 0 without one
  const std::string line = printable(errors.substr(begin, errors.find('\n', sign) - begin));
  return line.substr(line.find(": ") + 2);
}

/// MPICH's message under the launcher of another MPI: MPI_Init refuses.
std::optional<std::string> refused_line(const std::string& errors) {
  const auto sign = errors.find("unsupported PMI version");
  if (sign == std::string::npos) return std::nullopt;
  const auto begin = errors.find_first_not_of(" ", errors.rfind(":", sign) + 1);
  return printable(errors.substr(begin, errors.find('\n', sign) - begin));
}

/// True if the output of launcher or program shows that the program was started.
bool shows_started_processes(const LauncherSight& sight) {
  // Open MPI, MPICH and Intel MPI, Slurm; and the dynamic linker in the program's name
  const std::array signs = {std::string("process returned"),     std::string("exited with non-zero status"),
                            std::string("exited on signal"),     std::string("BAD TERMINATION"),
                            std::string("xited with exit code"), sight.program + ": "};
  return std::ranges::any_of(signs,
                             [&](const std::string& sign) { return sight.errors.find(sign) != sight.errors.npos; });
}

std::string count_text(std::int64_t count, const std::string& what) {
  return (count == 1 ? "one " : std::to_string(count) + " ") + what + (count == 1 ? "" : "s");
}

std::string nothing_started(const LauncherSight& sight) {
  const std::string none = "no process of " + sight.program + " was seen";
  if (sight.timed_out) return sight.launcher + " started nothing within the time limit: " + none + correct_it;
  if (sight.exit_code == 0) {
    return sight.launcher + " started nothing and ended with code 0: " + none + " of the " +
           std::to_string(sight.requested) + " requested" + correct_it;
  }
  const std::string words = banner_text(sight.errors);
  return sight.launcher + " ended with code " + exit_code_text(sight.exit_code) + " and started nothing: " + none +
         (words.empty() ? "; it printed nothing" : "; it printed: " + words) + ". Run the command in " + sight.folder +
         "/command.txt by hand, and correct the launcher or the key launcher" + " of the sweep file";
}

std::string another_mpi(const LauncherSight& sight) {
  return " " + sight.launcher + " belongs to another MPI than the one that " + sight.program +
         " was built with; give the path of that MPI's launcher in the key launcher of the sweep file";
}

/// With MPI, the record has another world size than requested.
std::string other_world(const LauncherSight& sight, std::int64_t world) {
  const std::string requested = std::to_string(sight.requested) + " were requested";
  if (world > 1) return sight.launcher + " started " + count_text(world, "rank") + ", but " + requested + correct_it;
  if (sight.processes > 1) {
    return sight.launcher + " started " + std::to_string(sight.processes) + " processes of " + sight.program +
           " that do not form one world: each has world size 1 (" + requested + ")." + another_mpi(sight);
  }
  return sight.launcher + " started one process of " + sight.program + ", but " + requested + correct_it;
}

}  // namespace

std::optional<std::string> launcher_fault(const LauncherSight& sight) {
  if (!sight.any_rank) {
    if (const auto alone = alone_line(sight.errors)) return alone;
    if (const auto refused = refused_line(sight.errors)) {
      return "MPI_Init of " + sight.program + " failed under " + sight.launcher + ": " + *refused + another_mpi(sight);
    }
    if (const auto slots = slots_line(sight.errors)) {
      return sight.launcher + " has too few slots for " + count_text(sight.requested, "rank") +
             "; it printed: " + *slots +
             ". Add --map-by :OVERSUBSCRIBE to the key launcher of the sweep file, give it a host file with more "
             "slots, or request fewer ranks";
    }
    if (sight.processes == 0 && !shows_started_processes(sight)) return nothing_started(sight);
  }
  if (sight.world_size && *sight.world_size != sight.requested) return other_world(sight, *sight.world_size);
  return std::nullopt;
}

}  // namespace plumbline
