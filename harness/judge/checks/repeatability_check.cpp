// SPDX-License-Identifier: BSD-3-Clause
// repeatability (R0): a repeated run gives the same bits, row by row.
#include <fmt/format.h>

#include <limits>
#include <map>
#include <tuple>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/facts/positions.hpp"
#include "harness/judge/comparability.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

/// A value that must repeat, with a key that sorts in execution order.
struct Item {
  std::int64_t rank = 0;
  std::string name;
  std::string value;  ///< of a number the shortest text that reads back to the same bits
};
using Items = std::multimap<std::tuple<ExecutionPoint, std::int64_t, std::string>, Item>;

constexpr auto after_all_microbatches = std::numeric_limits<std::int64_t>::max();

void add(Items& items, const ExecutionPoint& point, std::int64_t rank, const std::string& name,
         const std::string& value) {
  items.insert({{point, rank, name}, {rank, name, value}});
}

void add_rank(Items& items, const RankRecord& rank, const ExpectedModel& model) {
  for (const auto& row : rank.microbatches) {
    add(items, at_data(row.step, row.microbatch), rank.rank, "data", row.data_digest);
    if (row.loss) add(items, at_loss(row.step, row.microbatch), rank.rank, "loss", to_text(*row.loss));
  }
  for (const auto& row : rank.boundaries) {
    const auto cut = model.unit_position(row.cut).value_or(0);
    const auto side = row.side == "receive" ? BoundaryEnd::received : BoundaryEnd::sent;
    add(items, at_boundary(row.step, row.microbatch, row.direction, cut, side), rank.rank,
        row.direction + " boundary " + row.cut + " " + row.side, row.digest);
  }
  for (const auto& row : rank.tensors) {
    const auto position = model.parameter_position(row.name).value_or(0);
    const auto point = tensor_point(row.step, row.kind, position, row.stage);
    add(items, point, rank.rank, row.kind + " " + row.name, row.digest);
  }
  for (const auto& row : rank.steps) {
    if (row.loss) add(items, at_step_loss(row.step), rank.rank, "loss of the step", to_text(*row.loss));
    if (row.gradient_norm) add(items, at_norm(row.step), rank.rank, "gradient_norm", to_text(*row.gradient_norm));
    if (row.clip_coefficient)
      add(items, at_norm(row.step, NormPart::clip_coefficient), rank.rank, "clip_coefficient",
          to_text(*row.clip_coefficient));
    if (row.learning_rate)
      add(items, at_learning_rate(row.step), rank.rank, "learning_rate", to_text(*row.learning_rate));
  }
  for (const auto& row : rank.evaluation) {
    const auto point = at_evaluation(row.step, row.microbatch.value_or(after_all_microbatches));
    const std::string of =
        row.microbatch ? " of the evaluation's microbatch " + to_text(*row.microbatch) : " of the evaluation";
    add(items, point, rank.rank, "loss" + of, to_text(row.loss));
    if (row.microbatch) add(items, point, rank.rank, "data" + of, row.data_digest);
  }
}

Items items_of(const Record& record, const ExpectedModel& model) {
  Items items;
  for (const auto& rank : record.ranks) add_rank(items, rank, model);
  return items;
}

void report(const ExecutionPoint& point, const Item& item, const std::string& expected, const std::string& got,
            CheckResultBuilder& builder) {
  const bool in_microbatch = point.phase == StepPhase::forward_backward;
  builder.diverge(point, {.step = point.step,
                          .microbatch = in_microbatch ? std::optional(point.microbatch) : std::nullopt,
                          .rank = item.rank,
                          .item = item.name,
                          .expected = expected,
                          .got = got,
                          .why = "differs between the two runs"});
}

/// Whether the second run ended well: by its launcher, and by its record.
std::optional<std::string> why_second_run_failed(const CellEvidence& evidence) {
  const auto& launch = evidence.plan.repeat_launch;
  if (launch && (launch->timed_out || launch->exit_code != 0))
    return launch->words.empty() ? "it ended with code " + std::to_string(launch->exit_code) : launch->words;
  if (!evidence.repeated->record()) return "it left no readable record: " + evidence.repeated->error();
  for (const auto& rank : evidence.repeated->record()->ranks) {
    if (rank.exit && rank.exit->status == "ok" && rank.exit->code == 0) continue;
    return fmt::format("rank {}{}", rank.rank,
                       rank.exit ? " ended with status " + rank.exit->status : " left no exit.json");
  }
  return std::nullopt;
}

class RepeatabilityCheck : public StepCheck {
 public:
  explicit RepeatabilityCheck(const CellEvidence& evidence) : StepCheck(evidence, empty()) {
    if (!evidence_.repeated || why_second_run_failed(evidence_)) return;
    for (const auto& words : why_the_same_run(evidence_.candidate, *evidence_.repeated->record())) differ(words);
  }

  /// Keys begin with the execution point, and so with the step: each step's items are reported separately.
  void step(const StepEvidence&) override {
    if (!evidence_.repeated || !evidence_.repeated->record()) return;
    const Items once = items_of(evidence_.candidate, evidence_.model);
    const Items again = items_of(*evidence_.repeated->record(), evidence_.model);
    auto left = once.begin(), right = again.begin();
    while (left != once.end() || right != again.end()) {
      if (right == again.end() || (left != once.end() && left->first < right->first)) {
        report(std::get<0>(left->first), left->second, left->second.value, "no row", builder_);
        ++left;
      } else if (left == once.end() || right->first < left->first) {
        report(std::get<0>(right->first), right->second, "no row", right->second.value, builder_);
        ++right;
      } else {
        builder_.compare("items");
        if (left->second.value != right->second.value) {
          report(std::get<0>(left->first), left->second, left->second.value, right->second.value, builder_);
        }
        ++left, ++right;
      }
    }
  }

  LocatedResult conclude() override {
    if (!evidence_.repeated) return empty().conclude_as(Outcome::not_run, "the case was not run a second time");
    if (const auto words = why_second_run_failed(evidence_)) {
      builder_ = empty();
      differ("run twice, and the second run did not end well: " + *words);
      return builder_.conclude_as(Outcome::fails, "");
    }
    const auto least = evidence_.steps() * evidence_.own_microbatches();
    return builder_.conclude(std::to_string(builder_.count("items")) + " digests, losses and norms repeat to the bit",
                             {{"items", least}});
  }

 private:
  static CheckResultBuilder empty() { return {"repeatability", "R0", "0 ULP between two runs of this case"}; }

  void differ(const std::string& words) { builder_.diverge(at_structure(), {.item = "run", .words = words}); }
};

std::optional<std::string> no_repeat_asked_for(const CellPlan& plan, const Manifest&) {
  if (plan.repeat) return std::nullopt;
  return "this case was not run twice";
}

}  // namespace

CheckDescriptor repeatability_check() {
  return {.name = "repeatability",
          .place = 190,
          .claims = "the same run done again has the same bits, row by row.",
          .needs_in_words = "the case's id in the sweep file's `repeat`; else it does not apply.",
          .cannot_see = "what is wrong every time. Times and memory may differ.",
          .beyond_the_run = true,
          .not_applicable = no_repeat_asked_for,
          .make = make_check<RepeatabilityCheck>};
}

}  // namespace plumbline::judging
