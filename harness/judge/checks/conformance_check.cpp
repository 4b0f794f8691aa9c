// SPDX-License-Identifier: BSD-3-Clause
// conformance: each rank executed, in order, the list that the manifest's schedule lowers to, and that schedule is the
// one named.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/checks/checks.hpp"
#include "schedule/accumulation_order.hpp"
#include "schedule/lowering.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// A rank's executed actions of the kinds that the list has.
enum class Listed { all_actions, compute_alone };

/// A rank's list, with its actions as text, as in a table.
using ListedActions = std::vector<std::string>;

ListedActions listed_actions(const ActionList& list) {
  ListedActions texts;
  for (const Action& action : list) texts.push_back(to_text(action));
  return texts;
}

class ConformanceCheck : public StepCheck {
 public:
  explicit ConformanceCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"conformance", "conformance", "exact: the executed actions are the list"}) {
    reference_list();
    if (!evidence_.candidate.schedule_csv || !evidence_.lowered_list) return;
    match_manifest();
    // An external list may have only computations: then messages are not compared with it.
    const Manifest& manifest = evidence_.candidate.manifest;
    const bool messages_recorded = recorded_throughout(evidence_.candidate, {"sends", "receives"});
    if (!messages_recorded && evidence_.lists_messages)
      builder_.leave_out("messages of the list, which were not recorded");
    const bool compute_alone =
        !manifest.conventions.generated_lists && (!evidence_.lists_messages || !messages_recorded);
    if (compute_alone) listed_ = Listed::compute_alone;
    const std::vector<ActionList> all = compute_alone ? evidence_.compute_list->ranks : lists();
    for (const auto& list : all) {
      planned_ += std::ssize(list);
      lists_.push_back(listed_actions(list));
    }
    builder_.inspect("ranks", std::ssize(evidence_.candidate.ranks));
  }

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    notation("reference", evidence_.reference);
    notation("candidate", evidence_.candidate);
    if (reference_list_)
      executed("reference", evidence_.reference.ranks.at(0), now.step, *reference_list_, Listed::all_actions);
    if (!recorded_throughout(evidence_.candidate, {"actions"})) return;
    for (const auto& rank : evidence_.candidate.ranks) {
      if (rank.rank >= std::ssize(lists_)) continue;  // reported with the number of rows
      executed("", rank, now.step, lists_[static_cast<std::size_t>(rank.rank)], listed_);
    }
  }

  LocatedResult conclude() override {
    if (!evidence_.candidate.schedule_csv) {
      return builder_.conclude_as(Outcome::incomplete,
                                  "the record lacks schedule.csv, so the actions cannot be compared with a list");
    }
    if (!evidence_.lowered_list) {
      builder_.diverge(off_path(-1, OffPath::whole_record, 0),
                       {.item = "schedule.csv", .words = evidence_.schedule_error});
      return builder_.conclude_as(Outcome::differs, "");
    }
    const std::int64_t of_reference = reference_list_ ? std::ssize(*reference_list_) : 0;
    return builder_.conclude(quantity(planned_, "action") + " a step, executed as listed on every rank",
                             {{"actions", (planned_ + of_reference) * evidence_.steps()}});
  }

 private:
  /// Each row is one action of the notation, with matching cells for stage and microbatch.
  void notation(const std::string& whose, const Record& record) {
    for (const RankRecord& rank : record.ranks) {
      builder_.inspect("written_actions", std::ssize(rank.actions));
      for (const ActionRow& row : rank.actions) {
        const auto written = parse_action(row.action);
        if (!written) {
          action(whose, rank.rank, row, "an action", row.action);
        } else if (row.stage != written->stage || row.microbatch.value_or(no_microbatch) != written->microbatch) {
          action(whose, rank.rank, row, "its own stage and microbatch in the other fields", "others");
        }
      }
    }
  }

  void match_manifest() {
    const auto& manifest = evidence_.candidate.manifest;
    const Schedule& list = *evidence_.compute_list;
    if (list.placement.ranks != manifest.world_size) {
      structure("schedule.csv", std::to_string(manifest.world_size) + " rows", std::to_string(list.placement.ranks),
                "schedule.csv does not have one row per rank");
    }
    if (list.microbatches != manifest.microbatches) {
      structure("schedule.csv", std::to_string(manifest.microbatches) + " microbatches",
                std::to_string(list.microbatches), "the schedule and the data have different numbers of microbatches");
    }
    if (!evidence_.plan.schedule_csv.empty() && *evidence_.candidate.schedule_csv != evidence_.plan.schedule_csv) {
      structure("schedule.csv", hash_hex(evidence_.plan.schedule_csv), manifest.schedule_digest,
                fmt::format("this is not the digest of the file {}", evidence_.plan.schedule));
    }
    order_of_summing(list);
    for (const auto& stage : evidence_.stages.stages) {
      const auto rank = list.placement.rank_of(static_cast<std::int32_t>(stage.stage));
      if (rank != stage.rank) {
        structure("stage " + std::to_string(stage.stage), "rank " + std::to_string(rank),
                  "rank " + std::to_string(stage.rank), "the schedule places the stage on another rank");
      }
    }
  }

  /// A pipeline sums in the order of its list's backward passes; both records could agree on another order.
  void order_of_summing(const Schedule& list) {
    const Manifest& manifest = evidence_.candidate.manifest;
    if (manifest.role != "pipeline" || std::ssize(manifest.stages) != list.placement.stages()) return;
    std::vector<std::vector<std::string>> units;
    for (const StageEntry& stage : manifest.stages) units.push_back(stage.units);
    const auto replicas = static_cast<std::int32_t>(manifest.microbatches_of_step() / manifest.microbatches);
    const std::string order = accumulation_csv(counted_from(-evidence_.first_own(), list), units, replicas);
    const std::string expected = order.empty() ? "ascending" : "listed, " + hash_hex(order);
    const bool listed = manifest.accumulation == "listed";  // for other orders the digest is optional
    const std::string recorded = manifest.accumulation + (listed ? ", " + manifest.accumulation_digest : "");
    if (expected != recorded)
      structure("schedule.accumulation", expected, recorded,
                "the accumulation order is not the order of the list's backward passes");
  }

  /// Generates the list of a schedule known by name, including messages, instead of trusting the record. In an external
  /// trainer the name is only a label, and the list is its own.
  std::vector<ActionList> lists() {
    const auto& manifest = evidence_.candidate.manifest;
    const bool known =
        std::find(schedule_names().begin(), schedule_names().end(), manifest.schedule_name) != schedule_names().end();
    if (!known || !manifest.conventions.generated_lists) return evidence_.lowered_list->ranks;
    const auto ranks = static_cast<std::int32_t>(manifest.world_size);
    const auto own = make_schedule(manifest.schedule_name, ranks, static_cast<std::int32_t>(manifest.microbatches),
                                   static_cast<std::int32_t>(manifest.chunks_per_rank));
    const auto named = counted_from(evidence_.first_own(), own);
    builder_.compare("schedules");
    const auto& list = evidence_.compute_list->ranks;
    for (std::size_t rank = 0; rank < named.ranks.size() && rank < list.size(); ++rank) {
      if (named.ranks[rank] == list[rank]) continue;
      structure("schedule.csv, rank " + std::to_string(rank), text_of(named.ranks[rank]), text_of(list[rank]),
                "not the list of " + manifest.schedule_name);
    }
    return counted_from(evidence_.first_own(), lower(own, evidence_.tied())).ranks;
  }

  /// One device processes the microbatches one by one.
  void reference_list() {
    if (evidence_.reference.manifest.role != "reference") return;
    ActionList expected = one_by_one(evidence_.microbatches());
    std::string text;
    for (const Action& action : expected) text += (text.empty() ? "" : ",") + to_text(action);
    if (evidence_.reference.schedule_csv && *evidence_.reference.schedule_csv != text + "\n")
      structure("schedule.csv", text, "another list", "the reference does not compute one microbatch after the other");
    expected.push_back({0, ActionType::step, no_microbatch});
    reference_list_ = listed_actions(expected);
  }

  void executed(const std::string& whose, const RankRecord& rank, std::int64_t step, const ListedActions& expected,
                Listed listed) {
    std::size_t position = 0;
    const auto report = [&](std::size_t at, const std::string& wanted, const std::string& got) {
      action(whose, rank.rank, step, static_cast<std::int64_t>(at), wanted, wanted, got, "not executed as listed");
    };
    for (const ActionRow* row : actions_in_order(rank)) {
      const auto written = parse_action(row->action);
      if (listed == Listed::compute_alone && !(written && is_compute(written->type))) continue;
      builder_.compare("actions");
      const std::string& wanted = position < expected.size() ? expected[position] : the_end_;
      const bool in_its_place = listed == Listed::compute_alone || row->index == static_cast<std::int64_t>(position);
      if (row->action != wanted || !in_its_place)
        return report(position, wanted, fmt::format("{} with index {}", row->action, row->index));
      ++position;
    }
    if (position < expected.size()) report(position, expected[position], the_end_);
  }

  static std::string text_of(const ActionList& list) {
    std::string text;
    for (std::size_t i = 0; i < list.size() && i < 12; ++i) text += (i == 0 ? "" : " ") + to_text(list[i]);
    return list.size() > 12 ? text + " ..." : text;
  }

  void structure(const std::string& item, const std::string& expected, const std::string& got, const std::string& why) {
    builder_.diverge(off_path(-1, OffPath::whole_record, 0),
                     {.step = -1, .item = item, .expected = expected, .got = got, .why = why});
  }

  void action(const std::string& whose, std::int64_t rank, const ActionRow& row, const std::string& expected,
              const std::string& got) {
    action(whose, rank, row.step, row.index, row.action, expected, got, "its name and its fields differ");
  }

  void action(const std::string& whose, std::int64_t rank, std::int64_t step, std::int64_t index,
              const std::string& item, const std::string& expected, const std::string& got, const std::string& why) {
    builder_.diverge(off_path_action(step, index, rank), {.step = step,
                                                          .rank = rank,
                                                          .source = whose,
                                                          .item = item,
                                                          .what = fmt::format("action {}: {}", index, item),
                                                          .expected = expected,
                                                          .got = got,
                                                          .why = why});
  }

  std::optional<ListedActions> reference_list_;  ///< set if the record has one
  std::vector<ListedActions> lists_;             ///< the candidate's lists, by rank
  Listed listed_ = Listed::all_actions;
  std::int64_t planned_ = 0;
  const std::string the_end_ = "the end of the step";
};

}  // namespace

CheckDescriptor conformance_check() {
  return {.name = "conformance",
          .claims =
              "each rank executed its schedule's list of actions in order, and the list is the one of the named "
              "schedule; a pipeline sums gradients in the order of that list.",
          .needs_in_words = "`schedule.csv` and [`actions.csv`](record-format.md#actionscsv).",
          .cannot_see = "whether an action did what its name says.",
          .compares_without = {"actions", "schedule"},
          .make = make_check<ConformanceCheck>};
}

}  // namespace plumbline::judging
