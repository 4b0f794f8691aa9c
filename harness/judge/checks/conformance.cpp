// conformance: what each rank did, in order, is the list that the manifest's schedule lowers to; and that schedule is
// the one named.
#include <algorithm>

#include "harness/judge/checks/checks.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"

namespace plumbline::judging {
namespace {

class Conformance {
 public:
  Conformance(const CellEvidence& evidence, Judgement& judgement) : evidence_(evidence), judgement_(judgement) {}

  void asked_for() {
    const auto& manifest = evidence_.candidate.manifest;
    const Schedule& list = *evidence_.compute_list;
    const auto digest = hash_hex(*evidence_.candidate.schedule_csv);
    if (digest != manifest.schedule_digest) {
      structure("schedule.digest", digest, manifest.schedule_digest,
                "schedule.csv is not the file that the manifest's digest was taken of");
    }
    if (list.placement.ranks != manifest.world_size) {
      structure("schedule.csv", std::to_string(manifest.world_size) + " rows", std::to_string(list.placement.ranks),
                "schedule.csv has not one row a rank");
    }
    if (list.microbatches != manifest.microbatches) {
      structure("schedule.csv", std::to_string(manifest.microbatches) + " microbatches",
                std::to_string(list.microbatches), "the schedule is for another number of microbatches than the data");
    }
    if (!evidence_.plan.schedule_csv.empty() && *evidence_.candidate.schedule_csv != evidence_.plan.schedule_csv) {
      structure("schedule.csv", hash_hex(evidence_.plan.schedule_csv), digest,
                "not the list of the file " + evidence_.plan.schedule + ", by its digest");
    }
    for (const auto& stage : evidence_.stages.stages) {
      const auto rank = list.placement.rank_of(static_cast<std::int32_t>(stage.stage));
      if (rank != stage.rank) {
        structure("stage " + std::to_string(stage.stage), "rank " + std::to_string(rank),
                  "rank " + std::to_string(stage.rank),
                  "the stage lies on another rank than the schedule places it on");
      }
    }
    if (std::find(schedule_names().begin(), schedule_names().end(), manifest.schedule_name) == schedule_names().end())
      return;
    const auto ranks = static_cast<std::int32_t>(manifest.world_size);
    const auto named = make_schedule(manifest.schedule_name, ranks, static_cast<std::int32_t>(manifest.microbatches),
                                     static_cast<std::int32_t>(manifest.chunks_per_rank));
    judgement_.compare("schedules");
    for (std::size_t rank = 0; rank < named.ranks.size() && rank < list.ranks.size(); ++rank) {
      if (named.ranks[rank] == list.ranks[rank]) continue;
      structure("schedule.csv, rank " + std::to_string(rank), text_of(named.ranks[rank]), text_of(list.ranks[rank]),
                "not the list of " + manifest.schedule_name);
    }
  }

  void executed(const RankRecord& rank, std::int64_t step) {
    const auto& lists = evidence_.lowered_list->ranks;
    if (rank.rank >= static_cast<std::int64_t>(lists.size())) return;  // reported with the number of rows
    const ActionList& expected = lists[static_cast<std::size_t>(rank.rank)];
    std::size_t position = 0;
    const ActionRow* compute_before = nullptr;
    for (const ActionRow* pointer : in_order_of_issue(rank, step)) {
      const ActionRow& row = *pointer;
      judgement_.compare("actions");
      const std::string wanted = position < expected.size() ? to_text(expected[position]) : "the end of the step";
      if (row.action != wanted || row.index != static_cast<std::int64_t>(position)) {
        return action(rank.rank, step, position, wanted, row.action + " with index " + std::to_string(row.index));
      }
      const Action& planned = expected[position++];
      const bool cells = row.stage == planned.stage && row.microbatch.value_or(no_microbatch) == planned.microbatch;
      if (!cells) return action(rank.rank, step, position - 1, wanted, "stage or microbatch cell that says otherwise");
      if (row.end_ns < row.start_ns)
        return action(rank.rank, step, position - 1, "an end after its start", row.action + " ends before");
      if (!is_compute(planned.type)) continue;
      if (compute_before && row.start_ns < compute_before->end_ns) {
        return action(rank.rank, step, position - 1, "compute one after the other",
                      row.action + " overlaps " + compute_before->action);
      }
      compute_before = pointer;
    }
    if (position < expected.size())
      action(rank.rank, step, position, to_text(expected[position]), "the end of the step");
  }

 private:
  static std::vector<const ActionRow*> in_order_of_issue(const RankRecord& rank, std::int64_t step) {
    std::vector<const ActionRow*> rows;
    for (const auto& row : rank.actions) {
      if (row.step == step) rows.push_back(&row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->index < b->index; });
    return rows;
  }

  static std::string text_of(const ActionList& list) {
    std::string text;
    for (std::size_t i = 0; i < list.size() && i < 12; ++i) text += (i == 0 ? "" : " ") + to_text(list[i]);
    return list.size() > 12 ? text + " ..." : text;
  }

  void structure(const std::string& item, const std::string& expected, const std::string& got,
                 const std::string& words) {
    judgement_.diverge(beside(-1, -1, 0), -1, std::nullopt, item, expected, got,
                       words + " (expected " + expected + ", got " + got + ")");
  }

  void action(std::int64_t rank, std::int64_t step, std::size_t position, const std::string& expected,
              const std::string& got) {
    const auto index = static_cast<std::int64_t>(position);
    judgement_.diverge(beside(step, index, rank), step, rank, expected, expected, got,
                       "rank " + std::to_string(rank) + ", " + step_words(step) + ", action " + std::to_string(index) +
                           ": the list has " + expected + ", executed was " + got);
  }

  const CellEvidence& evidence_;
  Judgement& judgement_;
};

}  // namespace

Judged check_conformance(const CellEvidence& evidence) {
  Judgement judgement("conformance", "conformance", "exact: the executed actions are the list");
  if (!evidence.candidate.schedule_csv) {
    return judgement.conclude_as(Outcome::not_run,
                                 "the record has no schedule.csv: there is no list to hold the actions against");
  }
  if (!evidence.lowered_list) {
    FirstDivergence divergence;
    divergence.item = "schedule.csv";
    divergence.words = evidence.schedule_error;
    judgement.diverge(beside(-1, -1, 0), std::move(divergence));
    return judgement.conclude_as(Outcome::fails, "");
  }
  Conformance conformance(evidence, judgement);
  conformance.asked_for();
  std::int64_t planned = 0;
  for (const auto& list : evidence.lowered_list->ranks) planned += static_cast<std::int64_t>(list.size());
  for (const auto& rank : evidence.candidate.ranks) {
    judgement.look_at("ranks");
    for (std::int64_t step = 0; step < evidence.steps(); ++step) conformance.executed(rank, step);
  }
  return judgement.conclude(std::to_string(planned) + " actions a step were executed as listed on every rank",
                            {{"actions", planned * evidence.steps()}});
}

}  // namespace plumbline::judging
