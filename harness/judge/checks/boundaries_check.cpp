// SPDX-License-Identifier: BSD-3-Clause
// boundaries (R2): every boundary tensor is, at both ends, the reference's tensor there; and the transport moved
// exactly what the list requires.
#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/expected/model.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

void report_traffic(std::int64_t step, std::int64_t rank, const TrafficEdge& edge, const Moved& expected,
                    const Moved& got, CheckResultBuilder& builder) {
  const auto words = [](const Moved& moved) {
    return fmt::format("{} operations, {} bytes", moved.operations, moved.bytes);
  };
  const bool send = edge.side == "send";
  const std::string item = fmt::format("rank {} -> rank {}", send ? rank : edge.peer, send ? edge.peer : rank);
  builder.diverge(off_path_action(step, 0, rank),
                  {.step = step,
                   .rank = rank,
                   .direction = edge.direction,
                   .item = item,
                   .what = fmt::format("traffic {}, {}, {}", item, edge.direction, edge.side),
                   .expected = words(expected),
                   .got = words(got),
                   .why = "the schedule implies otherwise"});
}

std::map<TrafficEdge, Moved> counted(const RankRecord& rank) {
  std::map<TrafficEdge, Moved> traffic;
  for (const auto& row : rank.traffic) {
    Moved& moved = traffic[{row.peer, row.direction, row.side}];
    moved.operations += row.operations;
    moved.bytes += row.bytes;
  }
  return traffic;
}

bool lacks_traffic(const Record& record) {
  return std::ranges::any_of(record.ranks, [](const RankRecord& rank) {
    return std::ranges::find(rank.absent, "traffic.csv") != rank.absent.end();
  });
}

/// Compares the candidate's traffic.csv with its lowered list.
class TrafficComparison {
 public:
  TrafficComparison(const CellEvidence& evidence, CheckResultBuilder& builder)
      : evidence_(evidence),
        builder_(builder),
        lacking_(lacks_traffic(evidence.candidate) || !evidence.lowered_list || !evidence.model.has_sizes() ||
                 !evidence.sizes_recorded()) {
    if (!evidence.sizes_recorded())
      builder_.leave_out("bytes moved (the sizes of the reference's microbatches were not recorded)");
    else if (!evidence.model.has_sizes())
      builder_.leave_out("bytes moved (the boundary tensors of this model have their own sizes)");
    else if (lacking_ && evidence.candidate.manifest.role != "reference")
      builder_.leave_out("bytes moved (traffic.csv or schedule.csv is absent)");
    if (lacking_) return;
    for (const auto& rank : evidence.candidate.ranks) {
      if (is_listed(rank)) builder_.inspect("ranks");
    }
  }

  void step(const StepEvidence& now) {
    if (lacking_) return;
    expect(now.boundary_bytes());
    for (const auto& rank : evidence_.candidate.ranks) {
      if (!is_listed(rank)) continue;
      auto expected = expected_[static_cast<std::size_t>(rank.rank)];
      auto got = counted(rank);
      for (const auto& [edge, moved] : expected) got.try_emplace(edge);
      for (const auto& [edge, moved] : got) {
        builder_.compare("traffic_edges");
        builder_.compare("bytes_moved", moved.bytes);
        if (!(moved == expected[edge])) report_traffic(now.step, rank.rank, edge, expected[edge], moved, builder_);
      }
    }
  }

 private:
  /// conformance reports the others.
  bool is_listed(const RankRecord& rank) const { return rank.rank < std::ssize(evidence_.lowered_list->ranks); }

  /// Sizes usually equal the previous step's.
  void expect(std::vector<std::int64_t> bytes) {
    if (!expected_.empty() && bytes == bytes_) return;
    bytes_ = std::move(bytes);
    expected_.clear();
    for (const auto& list : evidence_.lowered_list->ranks)
      expected_.push_back(expected_traffic(list, evidence_.stages, bytes_));
  }

  const CellEvidence& evidence_;
  CheckResultBuilder& builder_;
  bool lacking_;
  std::vector<std::int64_t> bytes_;                     ///< of a boundary tensor, by microbatch
  std::vector<std::map<TrafficEdge, Moved>> expected_;  ///< by rank, for `bytes_`
};

class BoundariesCheck : public StepCheck {
 public:
  explicit BoundariesCheck(const CellEvidence& evidence)
      : StepCheck(evidence,
                  {"boundaries", "R2",
                   evidence.values->demand() +
                       ": sender = receiver = the reference's tensor at the boundary; traffic equal to the byte"}),
        traffic_(evidence, builder_) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    const bool cuts = records_its_cuts(now);
    if (cuts && !cuts_ && now.step > evidence_.first_step()) report_no_cuts(evidence_.first_step());
    cuts_ = cuts_ || cuts;
    compare_claim(now, "boundaries", builder_);
    if (cuts_ && !cuts) report_no_cuts(now.step);
    if (evidence_.reference.manifest.role == "reference") demand_cuts_of_reference(now);
    demand_shapes(now);
    count_shared(now);
    traffic_.step(now);
  }

  LocatedResult conclude() override {
    if (empty_ > 0) builder_.evidence("crossings_of_empty_stages", empty_);
    if (evidence_.stages.crossings.empty()) builder_.not_shown("messages between stages (one stage has all units)");
    if (cuts_)
      return builder_.conclude(fmt::format("single stage: activations at all {} unit boundaries are {}",
                                           evidence_.model.units.size() - 1, evidence_.values->agreement()),
                               {});
    if (evidence_.stages.crossings.empty())
      return builder_.conclude(
          "single stage: no tensor crossed a stage boundary, and no byte was "
          "moved",
          {});
    if (alone_ > 0)
      builder_.leave_out("tensors at boundaries that only the candidate has: the reference is itself a pipeline");
    if (shared_ == 0) return builder_.conclude_as(Outcome::does_not_apply, "the two pipelines share no stage boundary");
    return builder_.conclude(
        evidence_.values->exact()
            ? "every tensor that crosses a stage boundary equals the reference's at both ends"
            : "every tensor that crosses a stage boundary is within its limit, and arrives as it was sent",
        {});
  }

 private:
  /// A candidate on one device that records its boundaries in one step has them in all.
  void report_no_cuts(std::int64_t step) {
    report(step, evidence_.first_own(), "forward", evidence_.model.units.at(1), "a row", "none",
           "the candidate did not record a tensor at this boundary");
  }

  /// A reference has a tensor at every boundary of its units, also where this candidate has none, and at no other.
  void demand_cuts_of_reference(const StepEvidence& now) {
    const auto& units = evidence_.model.units;
    for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
      for (std::size_t unit = 1; unit < units.size(); ++unit) {
        for (const Column column : {Column::forward, Column::backward}) {
          if (with_key(now.facts.reference, {.column = column, .microbatch = m, .name = units[unit]}).empty())
            report(now.step, m, rules_of(column).name, units[unit], "a tensor", "no row", "", "reference");
        }
      }
    }
    for (const Column column : {Column::forward, Column::backward}) {
      for (const Fact& fact : of_column(now.facts.reference, column)) {
        const std::string cut(fact.name);
        if (evidence_.model.unit_position(cut).value_or(0) == 0)
          report(now.step, fact.microbatch, rules_of(column).name, cut, "no such boundary in this model", "a row", "",
                 "reference");
      }
    }
  }

  /// In a Llama's record batch x length x hidden size of the microbatch: of each tensor of the reference, and of those
  /// of the candidate that are compared with none of it.
  void demand_shapes(const StepEvidence& now) {
    if (!evidence_.model.has_sizes()) return;
    for (const Column column : {Column::forward, Column::backward}) {
      for (const bool of_reference : {true, false}) {
        for (const Fact& fact : of_column(of_reference ? now.facts.reference : now.facts.candidate, column)) {
          const MicrobatchRow* sizes = now.reference_rows.microbatch(fact.microbatch);
          if (!sizes || (!of_reference && !with_key(now.facts.reference, fact).empty())) continue;
          const Shape expected = {sizes->batch, sizes->sequence_length, evidence_.model.hidden};
          const Shape& shape = std::get<const BoundaryRow*>(fact.value)->shape;
          if (shape != expected)
            report(now.step, fact.microbatch, rules_of(column).name, std::string(fact.name), shape_text(expected),
                   shape_text(shape), "not the shape of its microbatch", of_reference ? "reference" : "");
        }
      }
    }
  }

  /// Stage boundaries of the candidate that the reference has a tensor of, and those that it has none of.
  void count_shared(const StepEvidence& now) {
    for (std::int64_t m = evidence_.first_own(); m < evidence_.end_own(); ++m) {
      for (const Crossing& crossing : evidence_.stages.crossings) {
        const FactSpan theirs =
            with_key(now.facts.reference, {.column = Column::forward, .microbatch = m, .name = crossing.cut});
        ++(theirs.empty() ? alone_ : shared_);
        if (!theirs.empty() && of_empty_stage(crossing)) empty_ += 2;  // forward and backward
      }
    }
    builder_.inspect("crossings", evidence_.own_microbatches() * std::ssize(evidence_.stages.crossings));
  }

  /// At an end without units.
  bool of_empty_stage(const Crossing& crossing) const {
    const auto empty = [&](std::int64_t stage) { return evidence_.stages.find(stage)->units.empty(); };
    return empty(crossing.from_stage) || empty(crossing.to_stage);
  }

  void report(std::int64_t step, std::int64_t microbatch, std::string_view direction, const std::string& cut,
              const std::string& expected, const std::string& got, const std::string& why,
              const std::string& whose = "") {
    builder_.diverge(at_boundary(step, microbatch, std::string(direction),
                                 evidence_.model.unit_position(cut).value_or(0), BoundaryEnd::sent),
                     {.step = step,
                      .microbatch = microbatch,
                      .rank = 0,
                      .direction = std::string(direction),
                      .source = whose,
                      .item = cut,
                      .what = fmt::format("{} boundary {}", direction, cut),
                      .expected = expected,
                      .got = got,
                      .why = why});
  }

  TrafficComparison traffic_;
  bool cuts_ = false;  ///< both are one device, and the candidate records the boundaries of its units
  std::int64_t shared_ = 0, alone_ = 0, empty_ = 0;
};

}  // namespace

CheckDescriptor boundaries_check() {
  return {.name = "boundaries",
          .claims =
              "every activation and gradient that crosses a stage boundary equals the reference's tensor at both ends; "
              "the transport moved exactly the bytes that the schedule implies.",
          .needs_in_words = "both records must scale the loss in the same way.",
          .cannot_see = "errors between two stage boundaries that cancel before the next.",
          .level = RecordLevel::full,
          .same_start = true,
          .values = Values::before_update,
          .compares_without = {"sends", "receives", "boundaries"},
          .make = make_check<BoundariesCheck>};
}

}  // namespace plumbline::judging
