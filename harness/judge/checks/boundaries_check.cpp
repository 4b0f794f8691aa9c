// SPDX-License-Identifier: BSD-3-Clause
// boundaries (R2): every boundary tensor is, at both ends, the reference's tensor there; and the transport moved
// exactly what the list demands.
#include <fmt/format.h>

#include "harness/judge/checks/boundary_comparison.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/expected/expected_traffic.hpp"

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
                   .why = "not what the schedule implies"});
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

/// Compares the candidate's traffic.csv with its lowered list.
class TrafficComparison {
 public:
  TrafficComparison(const CellEvidence& evidence, CheckResultBuilder& builder)
      : evidence_(evidence),
        builder_(builder),
        lacking_(lacks(evidence.candidate, "traffic.csv") || !evidence.lowered_list || !evidence.model.llama ||
                 !evidence.sizes_recorded()) {
    if (!evidence.sizes_recorded())
      builder_.leave_out("bytes moved (the reference's recorder could not see how large microbatches are)");
    else if (!evidence.model.llama)
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

  /// Sizes usually equal those of the previous step.
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
      : evidence_(evidence),
        builder_("boundaries", "R2",
                 value_limit(evidence) +
                     ": sender = receiver = the reference's tensor at the boundary; traffic equal to the byte"),
        comparable_gradients_(evidence.reference.manifest.loss_scaling == evidence.candidate.manifest.loss_scaling &&
                              evidence.reference.manifest.boundary_gradient_factor ==
                                  evidence.candidate.manifest.boundary_gradient_factor),
        tensors_(evidence, comparable_gradients_, builder_),
        traffic_(evidence, builder_) {
    builder_.not_recorded(evidence.not_recorded);
  }

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    tensors_.step(now);
    traffic_.step(now);
  }

  LocatedResult conclude() override {
    if (tensors_.candidate_records_its_cuts()) return conclude_cuts();
    if (evidence_.stages.crossings.empty()) {
      // One stage: the claim is that nothing was transferred, and only the ranks' tables are inspected.
      builder_.inspect("tables", 2 * static_cast<std::int64_t>(evidence_.candidate.ranks.size()));
      return builder_.conclude(
          "one stage holds the whole model: no tensor crossed a stage boundary and no byte was moved", {{"tables", 1}});
    }
    if (builder_.count("crossings_of_the_candidate_alone") > 0)
      builder_.leave_out("tensors at boundaries that only the candidate has: the reference is itself a pipeline");
    if (builder_.count("crossings") == builder_.count("crossings_of_the_candidate_alone")) {
      return builder_.conclude_as(Outcome::not_applicable, "the two pipelines have no stage boundary in common");
    }
    if (!comparable_gradients_) {
      return builder_.conclude_as(
          Outcome::not_run,
          "activations agree, but the boundary gradients are scaled by another factor than the reference's "
          "(loss_scaling, boundary_gradient_factor), so their bits cannot be compared: record a reference that "
          "scales where the candidate does");
    }
    const auto least = 2 * evidence_.compared_steps() * evidence_.own_microbatches() *
                       static_cast<std::int64_t>(evidence_.stages.crossings.size());
    return builder_.conclude(
        evidence_.values->exact()
            ? "every tensor that crosses a stage boundary equals the reference's at both ends"
            : "every tensor that crosses a stage boundary is within its limit, and arrives as it was sent",
        {{"crossings", least}}, {"nonzero_tensors"});
  }

 private:
  LocatedResult conclude_cuts() {
    if (!comparable_gradients_) builder_.leave_out("gradients at the boundaries, which are scaled by another factor");
    const auto cuts = static_cast<std::int64_t>(evidence_.model.units.size()) - 1;
    return builder_.conclude(
        fmt::format(
            "nothing crossed between stages; the tensors that both computed at the model's {} boundaries are {}", cuts,
            agreement(evidence_)),
        {{"computed", 2 * evidence_.compared_steps() * evidence_.own_microbatches() * cuts}}, {"nonzero_tensors"});
  }

  const CellEvidence& evidence_;
  CheckResultBuilder builder_;
  bool comparable_gradients_;
  BoundaryComparison tensors_;
  TrafficComparison traffic_;
};

}  // namespace

CheckDescriptor boundaries_check() {
  return {.name = "boundaries",
          .place = 60,
          .claims =
              "every activation and gradient that crosses a stage boundary equals the reference's tensor at both ends; "
              "the transport moved what the schedule says, to the byte.",
          .needs_in_words = "level full, the same start; gradients are compared if both records scale the loss alike.",
          .cannot_see = "errors between two stage boundaries that cancel before the next.",
          .level = RecordLevel::full,
          .same_start = true,
          .behind_norm = BehindNorm::gradients,
          .compares_without = {"sends", "receives", "boundaries"},
          .make = [](const CellEvidence& evidence) -> std::unique_ptr<StepCheck> {
            return std::make_unique<BoundariesCheck>(evidence);
          }};
}

}  // namespace plumbline::judging
