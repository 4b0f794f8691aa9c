// SPDX-License-Identifier: BSD-3-Clause
// completion: both runs completed: every rank exited with 0 and wrote every step.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/judge/checks/checks.hpp"
#include "schedule/action.hpp"
#include "support/signals.hpp"

namespace plumbline::judging {
namespace {

/// "rank 0 -> rank 1" if the rank's last action was a message, else "rank 1".
std::string edge_or_rank(const Record& record, std::int64_t rank, const std::string& last_action) {
  const std::string plain = "rank " + std::to_string(rank);
  const auto action = parse_action(last_action);
  if (!action || !is_communication(action->type)) return plain;
  const bool send = action->type == ActionType::send_forward || action->type == ActionType::send_backward;
  const bool downstream = action->type == ActionType::send_forward || action->type == ActionType::receive_backward;
  const StageMap stages = stage_map(record.manifest);
  const auto* peer = stages.find(action->stage + (downstream ? 1 : -1));
  if (!peer) return plain;
  const std::string other = "rank " + std::to_string(peer->rank);
  return send ? fmt::format("{} -> {}", plain, other) : fmt::format("{} -> {}", other, plain);
}

class Completion {
 public:
  Completion(std::string whose, const RecordReading& reading, const std::optional<LaunchFinding>& launch,
             Structure place, CheckResultBuilder& builder)
      : whose_(std::move(whose)), reading_(reading), launch_(launch), place_(place), builder_(builder) {}

  void run() {
    if (launch_ && (!launch_->started || launch_->timed_out || launch_->exit_code != 0)) {
      const std::int64_t rank = launch_->culprit_rank.value_or(-1);
      if (reading_.record() && rank >= 0 && rank < std::ssize(reading_.record()->ranks)) step_ = last_step(rank);
      report(rank, item_of(rank), "exit code 0",
             launch_->timed_out ? "stopped by its time limit" : "exit code " + exit_code_text(launch_->exit_code),
             launch_->words.empty() ? "the program crashed or timed out" : launch_->words);
    }
    if (launch_ && launch_->exit_code == 0 && !launch_->words.empty() && !every_rank_left_its_word()) {
      report(-1, "run", "all ranks to have ended", "exit code 0", launch_->words);
    }
    if (!reading_.record()) {
      step_ = reading_.place().step.value_or(0);
      return report(reading_.place().rank.value_or(-1), reading_.place().file, "a readable record", "none",
                    reading_.error());
    }
    const Record& record = *reading_.record();
    for (const auto& rank : record.ranks) inspect(record, rank);
  }

 private:
  bool every_rank_left_its_word() const {
    return reading_.record() &&
           std::ranges::all_of(reading_.record()->ranks, [](const RankRecord& rank) { return rank.exit.has_value(); });
  }

  void inspect(const Record& record, const RankRecord& rank) {
    builder_.inspect("ranks");
    builder_.inspect("steps", progress(rank.rank).whole_steps);
    const std::string name = "rank " + std::to_string(rank.rank);
    step_ = last_step(rank.rank);
    if (!rank.exit) {
      return report(rank.rank, name, "exit.json", "none",
                    fmt::format("{} left no exit.json: it was killed, or is still running, after {} complete steps "
                                "(manifest.json: world_size {}){}",
                                name, progress(rank.rank).whole_steps, record.manifest.world_size,
                                errors_of_others(record, rank)));
    }
    if (rank.exit->status != "ok" || rank.exit->code != 0) {
      return report(
          rank.rank, edge_or_rank(record, rank.rank, rank.exit->last_action), "ok", rank.exit->status,
          fmt::format("{} ended with status {}, code {}{}{}{}", name, rank.exit->status, rank.exit->code,
                      rank.exit->last_action.empty() ? "" : ", while in " + rank.exit->last_action,
                      rank.exit->where.empty() ? "" : ": " + rank.exit->where, errors_of_others(record, rank)));
    }
    inspect_last_action(rank);
  }

  /// "; rank 1: train.py:45: ValueError ...": the cause may be on another rank, whose end made this one fail.
  static std::string errors_of_others(const Record& record, const RankRecord& rank) {
    constexpr int most_quoted = 3;
    int quoted = 0;
    std::string words;
    for (const RankRecord& other : record.ranks) {
      const bool says_why = other.rank != rank.rank && other.exit && !other.exit->where.empty();
      if (says_why && quoted++ < most_quoted) words += fmt::format("; rank {}: {}", other.rank, other.exit->where);
    }
    return words;
  }

  /// A rank with status ok must have ended after its last action.
  void inspect_last_action(const RankRecord& rank) {
    const std::string& reported = rank.exit->last_action;
    const std::string& last = progress(rank.rank).last_action;
    if (reported.empty() || last.empty() || reported == last) return;
    report(
        rank.rank, "last_action", last, reported,
        fmt::format("rank {}: last_action in exit.json is {}, the last of actions.csv {}", rank.rank, reported, last));
  }

  /// The step in which a failed rank ended: its table has only whole steps.
  std::int64_t last_step(std::int64_t rank) const {
    const Record& record = *reading_.record();
    return std::min(record.first_step + progress(rank).whole_steps, record.manifest.steps - 1);
  }

  const RankProgress& progress(std::int64_t rank) const { return reading_.progress()[static_cast<std::size_t>(rank)]; }

  std::string item_of(std::int64_t rank) const {
    if (rank < 0) return "run";
    const Record* record = reading_.record();
    if (record && rank < std::ssize(record->ranks)) {
      if (const auto& exit = record->ranks[static_cast<std::size_t>(rank)].exit)
        return edge_or_rank(*record, rank, exit->last_action);
    }
    return "rank " + std::to_string(rank);
  }

  void report(std::int64_t rank, const std::string& item, const std::string& expected, const std::string& got,
              const std::string& words) {
    builder_.diverge(at_structure(place_, order_++), {.step = step_,
                                                      .rank = rank >= 0 ? std::optional(rank) : std::nullopt,
                                                      .item = item,
                                                      .expected = expected,
                                                      .got = got,
                                                      .words = fmt::format("{}: {}", whose_, words)});
  }

  std::string whose_;
  const RecordReading& reading_;
  const std::optional<LaunchFinding>& launch_;
  Structure place_;
  std::int64_t order_ = 0;
  CheckResultBuilder& builder_;
  std::int64_t step_ = 0;
};

}  // namespace

LocatedResult check_completion(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate) {
  CheckResultBuilder builder("completion", "completion", "every rank of both runs exited with 0 and wrote every step");
  Completion("reference", reference, plan.reference_launch, Structure::reference_ended, builder).run();
  Completion("candidate", candidate, plan.launch, Structure::candidate_ended, builder).run();
  const bool stopped =
      (plan.launch && plan.launch->interrupted) || (plan.reference_launch && plan.reference_launch->interrupted);
  if (stopped) {
    return without_looking(
        "completion", Outcome::incomplete,
        "the sweep was stopped before this case ended" +
            (plan.launch && !plan.launch->words.empty() ? ": " + plan.launch->words : std::string()));
  }
  const auto ranks = builder.count("ranks");
  return builder.conclude("both runs completed (" + std::to_string(ranks) + " ranks in all)", {{"ranks", 2}});
}

CheckDescriptor completion_check() {
  return {.name = "completion",
          .claims = "both runs completed: every rank exited with 0 and wrote every step.",
          .needs_in_words = "nothing. All other checks need it.",
          .cannot_see = "whether the runs computed the right values.",
          .required = Required::always};
}

}  // namespace plumbline::judging
