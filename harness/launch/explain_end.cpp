// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/explain_end.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>

#include "harness/launch/last_error_line.hpp"
#include "harness/launch/mpi_launcher.hpp"
#include "record/exit_file.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

std::string seconds_text(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1000 << " s";
  return text.str();
}

/// The rank in "plumbline-pipeline: rank 3: ...". All ranks receive the message, and rank 0 prints it.
std::optional<std::int64_t> rank_in(const std::string& said, const std::string& speaker) {
  const std::string start = speaker + ": rank ";
  if (speaker.empty() || !said.starts_with(start)) return std::nullopt;
  const std::string rest = said.substr(start.size());
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
bool was_interrupted(const LaunchEnd& end, const LaunchFinding& finding, const std::string& said) {
  const std::string name = std::filesystem::path(end.launch.command.front()).filename().string();
  if (!end.by_itself || finding.exit_code == 0 || name != mpirun) return false;
  constexpr std::array signs = {
      "detected that one or more", "has exited due to", "MPI_ABORT", "ORTE has", "PRTE has", "BAD TERMINATION"};
  const bool speaks = std::ranges::any_of(signs, [&](const char* sign) { return said.find(sign) != said.npos; });
  return !speaks && std::ranges::any_of(end.sights, &RankSight::gone) &&
         std::ranges::all_of(end.sights, [](const RankSight& sight) { return !sight.exit && !sight.failed_first; });
}

class Explanation {
 public:
  Explanation(const LaunchEnd& end, LaunchFinding& finding)
      : end_(end),
        finding_(finding),
        launcher_(end.launch.command.front()),
        said_(last_error_line(end.launch.folder / "stderr.txt", end.launch.speaker,
                              end.said_before.value_or(std::numeric_limits<std::uintmax_t>::max()))) {}

  void of_the_launcher() {
    if (end_.launcher_stopped) {
      finding_.words = limit() + launcher_ + " was stopped (SIGSTOP)";
    } else {
      finding_.words =
          launcher_ + " was killed by signal " + signal_text(*end_.launcher_signal) + ", which ends its ranks";
    }
  }

  void of_interrupted_launcher() {
    finding_.words = ended() + " without reporting a failed rank, as when it is signalled to end";
  }

  void of_no_start() {
    finding_.started = false;
    finding_.culprit_rank = rank_in(said_, end_.launch.speaker);
    if (finding_.timed_out) {
      finding_.words = limit() + "no rank had started";
      return;
    }
    finding_.words = ended() + " before any rank had started";
    const auto named = std::ranges::find_if(end_.sights, &RankSight::failed_first);
    if (!finding_.culprit_rank && named != end_.sights.end()) {
      finding_.culprit_rank = named->rank;
      finding_.words += ", rank " + std::to_string(named->rank) + " first";
    }
    if (!said_.empty()) finding_.words += ": " + said_;
  }

  void of_ranks_that_ended_well() {
    const auto last = diagnose_after_the_run(end_.sights, finding_.timed_out);
    finding_.culprit_rank = last.culprit;
    finding_.words = limit() + "every rank ended well, but " + (last.words.empty() ? ended() : last.words) +
                     (said_.empty() ? "" : ": " + said_);
  }

  /// The record's folder was removed, or never has heartbeats.
  void of_silent_ranks() {
    finding_.culprit_rank = rank_in(said_, end_.launch.speaker);
    if (is_own_line(said_, end_.launch.speaker)) {
      finding_.words = ended() + " before the first step. Last error line: " + said_;
      return;
    }
    finding_.words = (finding_.timed_out ? limit() + "its" : ended() + "; its") +
                     " ranks write no heartbeat, so their actions are unknown" +
                     (said_.empty() ? "" : ". Last error line: " + said_);
  }

  /// The heartbeats had existed, and no longer do.
  void of_a_record_that_was_removed() {
    finding_.culprit_rank = rank_in(said_, end_.launch.speaker);
    finding_.words = (finding_.timed_out ? limit() : ended() + "; ") + "the folder of its record, " +
                     end_.launch.record.string() + ", was removed while it ran" +
                     (said_.empty() ? "" : ". Last error line: " + said_);
  }

  void of_ranks() {
    const auto passed = finding_.timed_out ? std::optional(seconds_text(end_.launch.time_limit)) : std::nullopt;
    const auto diagnosis = diagnose(end_.sights, passed);
    finding_.culprit_rank = diagnosis.culprit;
    finding_.words = diagnosis.words;
    const bool tells = end_.launch.speaker.empty() ? !said_.empty() : is_own_line(said_, end_.launch.speaker);
    if (tells) finding_.words += ". Last error line: " + said_;
  }

 private:
  std::string limit() const {
    return finding_.timed_out ? "the time limit of " + seconds_text(end_.launch.time_limit) + " passed: " : "";
  }
  std::string ended() const { return launcher_ + " ended with code " + std::to_string(finding_.exit_code); }

  const LaunchEnd& end_;
  LaunchFinding& finding_;
  std::string launcher_, said_;
};

}  // namespace

bool all_ended_well(const std::vector<RankSight>& sights) {
  return std::ranges::all_of(sights, [](const RankSight& sight) { return sight.exit && ended_well(*sight.exit); });
}

void explain(LaunchEnd end, LaunchFinding& finding) {
  const std::string said = read_file(end.launch.folder / "stderr.txt");
  take_named_death(said, end.sights);
  if (end.own_signal) end.sights[0].signal = end.own_signal;
  const bool known =
      std::ranges::any_of(end.sights, [](const RankSight& sight) { return sight.signal || sight.stopped; });
  const bool tells =
      known || std::ranges::any_of(end.sights, [](const RankSight& sight) { return sight.seen || sight.exit; });
  Explanation explanation(end, finding);
  if (end.launcher_signal || end.launcher_stopped) {
    explanation.of_the_launcher();
  } else if (was_interrupted(end, finding, said)) {
    explanation.of_interrupted_launcher();
  } else if (!end.any_seen && !known) {
    explanation.of_no_start();
  } else if (all_ended_well(end.sights)) {
    explanation.of_ranks_that_ended_well();
  } else if (!tells && std::ranges::any_of(end.sights, &RankSight::found) && !path_exists(end.launch.record)) {
    explanation.of_a_record_that_was_removed();
  } else if (!tells) {
    explanation.of_silent_ranks();
  } else {
    explanation.of_ranks();
  }
}

}  // namespace plumbline
