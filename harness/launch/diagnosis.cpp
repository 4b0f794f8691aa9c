// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/diagnosis.hpp"

#include <algorithm>
#include <regex>

#include "harness/launch/stop_signals.hpp"
#include "record/wait_chain.hpp"
#include "support/numbers.hpp"
#include "support/signals.hpp"

namespace plumbline {
namespace {

std::string rank_text(std::int64_t rank) {
  return "rank " + std::to_string(rank);
}

/// "rank 1", "ranks 0, 1 and 3".
std::string ranks_text(const std::vector<std::int64_t>& ranks) {
  if (ranks.size() == 1) return rank_text(ranks.front());
  std::string text = "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

/// "in 2B3 of step 1": a rank's position.
std::string place_text(const RankSight& rank) {
  if (!rank.seen && rank.found) return "at an unknown action (its heartbeat does not show it)";
  if (!rank.seen && rank.elsewhere) return "on another host, whose heartbeats are not visible here";
  if (!rank.seen) return "before its first heartbeat";
  const std::string step = " of step " + std::to_string(rank.step);
  const std::string by_page = rank.host.empty() ? "" : " (on " + rank.host + ", whose heartbeat may be old)";
  if (rank.action.empty()) return "before its first action" + (rank.step > 0 ? step : "") + by_page;
  return "in " + rank.action + (rank.step >= 0 ? step : "") + by_page;
}

/// " (replica 1, rank 0, stage 2)"; empty for one pipeline.
std::string replica_text(const RankSight& rank) {
  if (rank.replica.empty()) return "";
  const std::string stage = rank.action.substr(0, rank.action.find_first_not_of("0123456789"));
  return " (" + rank.replica + (stage.empty() ? "" : ", stage " + stage) + ")";
}

const RankSight* find(const std::vector<RankSight>& ranks, std::int64_t rank) {
  const auto found = std::ranges::find_if(ranks, [&](const RankSight& sight) { return sight.rank == rank; });
  return found == ranks.end() ? nullptr : &*found;
}

std::vector<std::int64_t> chain_from(const std::vector<RankSight>& ranks, std::int64_t start) {
  return wait_chain(start, [&](std::int64_t rank) {
    const RankSight* at = find(ranks, rank);
    return at != nullptr && find(ranks, at->peer) != nullptr ? at->peer : -1;
  });
}

std::string waiters_text(const std::vector<RankSight>& ranks, std::int64_t culprit) {
  std::vector<std::int64_t> waiters;
  for (const auto& rank : ranks) {
    if (rank.rank == culprit || rank.peer < 0) continue;
    const auto chain = chain_from(ranks, rank.rank);
    if (std::ranges::find(chain, culprit) != chain.end()) waiters.push_back(rank.rank);
  }
  return waiters.empty() ? "" : "; " + ranks_text(waiters) + " waited for it";
}

Diagnosis blame(const std::vector<RankSight>& ranks, const RankSight& rank, const std::string& what) {
  return {rank.rank, rank_text(rank.rank) + replica_text(rank) + " " + what + " " + place_text(rank) +
                         waiters_text(ranks, rank.rank)};
}

/// The cycle that the chain from `start` reaches, in waiting order; empty if the chain ends.
std::vector<std::int64_t> cycle_from(const std::vector<RankSight>& ranks, std::int64_t start) {
  const auto chain = chain_from(ranks, start);
  const RankSight* last = find(ranks, chain.back());
  const auto entry = std::ranges::find(chain, last->peer);
  return entry == chain.end() ? std::vector<std::int64_t>{} : std::vector<std::int64_t>(entry, chain.end());
}

/// The single waiting rank that does not poll while other waiting ranks do. Without polling (another program's ranks)
/// nothing can be concluded.
const RankSight* hanging_in_its_wait(const std::vector<RankSight>& ranks) {
  const RankSight* hanging = nullptr;
  bool others_look = false;
  for (const auto& rank : ranks) {
    if (rank.peer < 0) continue;
    if (rank.still && hanging != nullptr) return nullptr;
    if (rank.still) hanging = &rank;
    others_look = others_look || !rank.still;
  }
  return others_look ? hanging : nullptr;
}

Diagnosis blame_by_waiting(const std::vector<RankSight>& ranks, const std::string& prefix) {
  const auto prefixed = [&](Diagnosis diagnosis) {
    diagnosis.words = prefix + diagnosis.words;
    return diagnosis;
  };
  for (const auto& rank : ranks) {
    if (rank.stopped)
      return prefixed(blame(ranks, rank, rank.traced ? "was stopped by a tracer" : "was stopped (SIGSTOP)"));
  }
  if (const RankSight* hanging = hanging_in_its_wait(ranks)) {
    return prefixed(
        blame(ranks, *hanging, "hangs: it stopped polling for what it awaits from " + rank_text(hanging->peer) + ","));
  }
  for (const auto& rank : ranks) {
    const auto cycle = cycle_from(ranks, rank.rank);
    if (cycle.empty()) continue;
    std::string words = prefix + ranks_text(cycle) + " wait for each other: ";
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const RankSight* member = find(ranks, cycle[i]);
      words +=
          (i > 0 ? ", " : "") + rank_text(cycle[i]) + " " + place_text(*member) + " for " + rank_text(member->peer);
    }
    return {cycle.front(), words};
  }
  // No cycle: every chain ends at a rank that does not wait. The rank at the end of most chains delayed the others.
  const RankSight* culprit = nullptr;
  std::ptrdiff_t most = -1;
  for (const auto& candidate : ranks) {
    if (candidate.peer >= 0 || (candidate.exit && candidate.exit->status == "ok")) continue;
    const auto held_up = std::ranges::count_if(ranks, [&](const RankSight& rank) {
      const auto chain = chain_from(ranks, rank.rank);
      return chain.back() == candidate.rank;
    });
    if (held_up > most) {
      most = held_up;
      culprit = &candidate;
    }
  }
  if (culprit == nullptr) return {std::nullopt, prefix + "the ranks did not wait for any particular rank"};
  return prefixed(blame(ranks, *culprit, "made no progress; it was last seen"));
}

/// The first match of `pattern` after `begin`, limited to the length of a launcher's message: std::regex recurses per
/// character, and ranks may print any amount.
std::optional<NamedDeath> death_in(const std::string& output, const std::string& begin, const std::regex& pattern) {
  constexpr std::size_t at_once = 1000;
  for (auto at = output.find(begin); at != std::string::npos; at = output.find(begin, at + 1)) {
    const std::string part = output.substr(at, at_once);
    std::smatch match;
    if (!std::regex_search(part, match, pattern)) continue;
    const auto rank = parse_integer(match[1].str());
    const auto signal = match.size() > 2 && match[2].matched ? parse_integer(match[2].str()) : 0;
    if (!rank || !signal) return std::nullopt;
    return NamedDeath{*rank, static_cast<int>(*signal)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<NamedDeath> death_in_launcher_output(const std::string& output) {
  // Each captures the rank, then the signal, if one ended it.
  static const std::vector<std::pair<std::string, std::regex>> sayings = {
      {"process rank", std::regex(R"(^process rank\s+(\d+)\s+with\s+PID\s+\d+\s+on\s+node\s+\S+\s+)"
                                  R"(exited\s+on\s+signal\s+(\d+))")},
      // torchrun's table; a negative code is a signal
      {"Root Cause (first observed failure):",
       std::regex(R"(^[^]{0,400}?rank\s+: (\d+) [^\n]*\n\s+exitcode\s+: (?:-(\d+)|\d+) )")},
      // Open MPI: a rank that ended with an exit code, and one that left without MPI_Finalize
      {"The first process to do so was:", std::regex(R"(^[^]{0,80}?Process name: \[\[\d+,\d+\],(\d+)\])")},
      {"has exited due to process rank", std::regex(R"(^has exited due to process rank (\d+) )")},
      // of a rank that MPI ends, as where it cannot start
      {"*** reported by process [", std::regex(R"(^[^\[]*\[\d+,(\d+)\])")},
  };
  for (const auto& [begin, pattern] : sayings) {
    if (const auto death = death_in(output, begin, pattern)) return death;
  }
  return std::nullopt;
}

Diagnosis diagnose_after_the_run(const std::vector<RankSight>& ranks, bool timed_out) {
  if (!timed_out) {
    for (const auto& rank : ranks) {
      if (rank.signal)
        return {rank.rank, rank_text(rank.rank) + " was killed by signal " + signal_text(*rank.signal) + " then"};
    }
    const auto first = std::ranges::find_if(ranks, &RankSight::failed_first);
    if (first == ranks.end()) return {};
    return {first->rank, rank_text(first->rank) + "'s process ended unexpectedly"};
  }
  std::vector<std::int64_t> living, still;
  for (const auto& rank : ranks) {
    if (rank.stopped) return {rank.rank, rank_text(rank.rank) + " was stopped (SIGSTOP) then"};
    if (rank.gone || !rank.found) continue;
    living.push_back(rank.rank);
    if (rank.still) still.push_back(rank.rank);
  }
  if (living.empty()) return {};
  // MPI_Finalize waits for all ranks by polling, with voluntary switches.
  const auto& left = still.size() == 1 ? still : living;
  if (left.size() == 1) return {left.front(), rank_text(left.front()) + "'s process did not end"};
  return {std::nullopt, "the processes of " + ranks_text(left) + " did not end"};
}

Diagnosis diagnose(const std::vector<RankSight>& ranks, const std::optional<std::string>& limit_text) {
  for (const auto& rank : ranks) {
    if (rank.signal && !rank.exit) return blame(ranks, rank, "was killed by signal " + signal_text(*rank.signal));
  }
  if (!limit_text) {
    const RankSight* first = nullptr;
    std::ptrdiff_t same_poll = 0;
    for (const auto& rank : ranks) {
      if (rank.failed_first && !rank.exit && (rank.gone || !rank.found)) {
        first = &rank;
        same_poll = 1;
        break;
      }
      if (!rank.gone || rank.exit) continue;
      if (first == nullptr || rank.gone_order < first->gone_order) {
        first = &rank;
        same_poll = 1;
      } else if (rank.gone_order == first->gone_order) {
        ++same_poll;
      }
    }
    const bool others_reported =
        std::ranges::any_of(ranks, [](const RankSight& rank) { return rank.exit && rank.exit->status != "ok"; });
    if (first != nullptr && same_poll == 1 && !others_reported) {
      return blame(ranks, *first, "ended without writing exit.json");
    }
  }
  const RankSight* reporter = nullptr;
  for (const auto& rank : ranks) {
    if (!rank.exit || (rank.exit->status != "error" && rank.exit->status != "signal")) continue;
    if (reporter == nullptr || (rank.failed_first && !reporter->failed_first)) reporter = &rank;
  }
  if (reporter != nullptr) {
    const ExitFile& exit = *reporter->exit;
    std::string what = exit.status == "error"
                           ? "ended with an error (exit code " + exit_code_text(static_cast<int>(exit.code)) + ")"
                           : "ended by signal " + exit.signal.value_or("(unnamed)");
    if (!reporter->where.empty()) what += " at " + reporter->where + ",";
    return blame(ranks, *reporter, what);
  }
  const bool deadline =
      std::ranges::any_of(ranks, [](const RankSight& rank) { return rank.exit && rank.exit->status == "timeout"; });
  return blame_by_waiting(ranks, limit_text ? "the time limit of " + *limit_text + " passed: "
                                 : deadline ? "a wait timed out: "
                                            : "");
}

}  // namespace plumbline
