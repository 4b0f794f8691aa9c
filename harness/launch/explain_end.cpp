// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/explain_end.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>

#include "harness/launch/last_error_line.hpp"
#include "record/exit_file.hpp"
#include "support/files.hpp"
#include "support/mpi_launcher.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"
#include "support/signals.hpp"

namespace plumbline {
namespace {

std::string seconds_text(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1000 << " s";
  return text.str();
}

/// The rank in "plumbline-pipeline: rank 3: ...". All ranks receive the message, and rank 0 prints it.
std::optional<std::int64_t> rank_in(const std::string& error_line, const std::string& speaker) {
  const std::string start = speaker + ": rank ";
  if (speaker.empty() || !error_line.starts_with(start)) return std::nullopt;
  const std::string rest = error_line.substr(start.size());
  return parse_integer(rest.substr(0, rest.find(':')));
}

/// Takes the failed rank from mpirun's output. mpirun also names ranks that our own signal ended; these had been found
/// and were not gone before.
void take_named_death(const std::string& output, std::vector<RankSight>& sights) {
  const auto named = death_in_launcher_output(output);
  if (!named || named->rank >= static_cast<std::int64_t>(sights.size())) return;
  RankSight& sight = sights[static_cast<std::size_t>(named->rank)];
  sight.failed_first = true;
  if (named->signal > 0 && (sight.gone || !sight.found)) sight.signal = named->signal;
}

/// True if Open MPI's mpirun ended without reporting a failed rank, as it does after SIGTERM or SIGINT. It always
/// reports ranks that fail. Some of its ranks may still have been alive: ending them takes time on a loaded machine.
bool was_interrupted(const LaunchEnd& end, const LaunchFinding& finding, const std::string& error_line) {
  const std::string name = std::filesystem::path(end.launch.command.front()).filename().string();
  if (!end.by_itself || finding.exit_code == 0 || name != mpirun) return false;
  constexpr std::array signs = {
      "detected that one or more", "has exited due to", "MPI_ABORT", "ORTE has", "PRTE has", "BAD TERMINATION"};
  const bool speaks =
      std::ranges::any_of(signs, [&](const char* sign) { return error_line.find(sign) != error_line.npos; });
  return !speaks && std::ranges::any_of(end.sights, &RankSight::gone) &&
         std::ranges::all_of(end.sights, [](const RankSight& sight) { return !sight.exit && !sight.failed_first; });
}

}  // namespace

bool all_ended_well(const std::vector<RankSight>& sights) {
  return std::ranges::all_of(sights, [](const RankSight& sight) { return sight.exit && ended_well(*sight.exit); });
}

void explain(LaunchEnd end, LaunchFinding& finding) {
  const std::string output = read_file(end.launch.folder / "stderr.txt");
  take_named_death(output, end.sights);
  if (end.own_signal) end.sights[0].signal = end.own_signal;
  const auto any_rank = [&](const auto& is) { return std::ranges::any_of(end.sights, is); };
  const bool named = any_rank(&RankSight::failed_first);
  const bool known = any_rank([](const RankSight& sight) { return sight.signal || sight.stopped; });
  const bool observed = known || any_rank([](const RankSight& sight) { return sight.seen || sight.exit; });

  const std::string &launcher = end.launch.command.front(), &speaker = end.launch.speaker;
  const std::string error_line = last_error_line(end.launch.folder / "stderr.txt", speaker,
                                                 end.said_before.value_or(std::numeric_limits<std::uintmax_t>::max()));
  const std::string last_line = error_line.empty() ? "" : ". Last error line: " + error_line;
  const std::string passed = seconds_text(end.launch.time_limit);
  const std::string limit = finding.timed_out ? "the time limit of " + passed + " passed: " : "";
  const std::string ended = launcher + " ended with code " + exit_code_text(finding.exit_code);
  if (end.launcher_stopped) {
    finding.words = limit + launcher + " was stopped (SIGSTOP)";
  } else if (end.launcher_signal && !named) {
    finding.words = launcher + " was killed by signal " + signal_text(*end.launcher_signal) + ", which ends its ranks";
  } else if (was_interrupted(end, finding, output)) {
    finding.words = ended + " without reporting a failed rank, as if it received a signal to end";
  } else if (!end.any_seen && !known) {
    finding.started = false;
    finding.culprit_rank = rank_in(error_line, speaker);
    finding.words = finding.timed_out ? limit + "no rank had started" : ended + " before any rank had started";
    if (finding.timed_out) return;
    const auto first = std::ranges::find_if(end.sights, &RankSight::failed_first);
    if (!finding.culprit_rank && first != end.sights.end()) {
      finding.culprit_rank = first->rank;
      finding.words += ", rank " + std::to_string(first->rank) + " first";
    }
    if (!error_line.empty()) finding.words += ": " + error_line;
  } else if (all_ended_well(end.sights)) {
    const auto last = diagnose_after_the_run(end.sights, finding.timed_out);
    finding.culprit_rank = last.culprit;
    finding.words = limit + "every rank completed, but " + (last.words.empty() ? ended : last.words) +
                    (error_line.empty() ? "" : ": " + error_line);
  } else if (!observed) {
    finding.culprit_rank = rank_in(error_line, speaker);
    if (any_rank(&RankSight::found) && !path_exists(end.launch.record)) {  // the heartbeats had existed
      finding.words = (finding.timed_out ? limit : ended + "; ") + "the folder of its record, " +
                      end.launch.record.string() + ", was removed while it ran" + last_line;
    } else if (is_own_line(error_line, speaker)) {
      finding.words = ended + " before the first step" + last_line;
    } else {
      finding.words = (finding.timed_out ? limit + "its" : ended + "; its") +
                      " ranks do not write heartbeats, so their actions are unknown" + last_line;
    }
  } else {
    const auto diagnosis = diagnose(end.sights, finding.timed_out ? std::optional(passed) : std::nullopt);
    finding.culprit_rank = diagnosis.culprit;
    finding.words = diagnosis.words;
    if (speaker.empty() || is_own_line(error_line, speaker)) finding.words += last_line;
  }
}

}  // namespace plumbline
