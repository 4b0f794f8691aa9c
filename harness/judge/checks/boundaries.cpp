// boundaries (R2): every tensor that crosses a cut, at both ends, is the reference's own tensor at that cut; and the
// transport moved exactly what the list says.
#include "harness/judge/checks/boundary_comparison.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/evidence/step_rows.hpp"
#include "harness/judge/expected/expected_traffic.hpp"

namespace plumbline::judging {
namespace {

void report_traffic(std::int64_t step, std::int64_t rank, const TrafficEdge& edge, const Moved& expected,
                    const Moved& got, Judgement& judgement) {
  const auto words = [](const Moved& moved) {
    return std::to_string(moved.operations) + " operations, " + std::to_string(moved.bytes) + " bytes";
  };
  const bool send = edge.side == "send";
  FirstDivergence divergence;
  divergence.step = step;
  divergence.rank = rank;
  divergence.direction = edge.direction;
  divergence.item =
      "rank " + std::to_string(send ? rank : edge.peer) + " -> rank " + std::to_string(send ? edge.peer : rank);
  divergence.expected = words(expected);
  divergence.got = words(got);
  divergence.words = "traffic " + divergence.item + ", " + edge.direction + ", " + edge.side + " side, " +
                     step_words(step) + ": " + divergence.got + "; the list gives " + divergence.expected;
  judgement.diverge(beside(step, 0, rank), std::move(divergence));
}

std::map<TrafficEdge, Moved> counted(const RankRecord& rank, std::int64_t step) {
  std::map<TrafficEdge, Moved> traffic;
  for (const auto& row : step_rows(rank.traffic, step)) {
    Moved& moved = traffic[{row.peer, row.direction, row.side}];
    moved.operations += row.operations;
    moved.bytes += row.bytes;
  }
  return traffic;
}

void compare_traffic(const CellEvidence& evidence, Judgement& judgement) {
  const auto& candidate = evidence.candidate;
  const bool reference_kind = candidate.manifest.role == "reference";
  if (lacks(candidate, "traffic.csv") || !evidence.lowered_list) {
    if (!reference_kind) judgement.leave_out("bytes moved (traffic.csv or schedule.csv is absent)");
    return;
  }
  for (const auto& rank : candidate.ranks) {
    const auto& lists = evidence.lowered_list->ranks;
    if (rank.rank >= static_cast<std::int64_t>(lists.size())) continue;  // conformance says so
    for (std::int64_t step = 0; step < evidence.steps(); ++step) {
      const auto bytes =
          boundary_bytes(evidence.reference_rows, evidence.reference.manifest, step, evidence.model.hidden);
      auto expected = expected_traffic(lists[static_cast<std::size_t>(rank.rank)], evidence.stages, bytes);
      auto got = counted(rank, step);
      for (const auto& [edge, moved] : expected) got.try_emplace(edge);
      for (const auto& [edge, moved] : got) {
        judgement.compare("traffic_edges");
        judgement.compare("bytes_moved", moved.bytes);
        if (!(moved == expected[edge])) report_traffic(step, rank.rank, edge, expected[edge], moved, judgement);
      }
    }
    judgement.look_at("ranks");
    if (candidate.manifest.world_size == 1 && !rank.traffic.empty()) {
      const auto& row = rank.traffic.front();
      report_traffic(row.step, rank.rank, {row.peer, row.direction, row.side}, {}, {row.operations, row.bytes},
                     judgement);
    }
  }
}

}  // namespace

Judged check_boundaries(const CellEvidence& evidence) {
  Judgement judgement(
      "boundaries", "R2",
      value_limit(evidence) + ": sender = receiver = the reference's tensor at the cut; traffic equal to the byte");
  const bool comparable_gradients =
      evidence.reference.manifest.loss_scaling == evidence.candidate.manifest.loss_scaling &&
      evidence.reference.manifest.boundary_gradient_factor == evidence.candidate.manifest.boundary_gradient_factor;
  compare_boundaries(evidence, comparable_gradients, judgement);
  compare_traffic(evidence, judgement);

  if (records_its_cuts(evidence)) {
    if (!comparable_gradients) judgement.leave_out("gradients at the cuts, which carry another factor");
    const auto cuts = static_cast<std::int64_t>(evidence.model.units.size()) - 1;
    return judgement.conclude("nothing crossed between stages; the tensors that both computed at the model's " +
                                  std::to_string(cuts) + " cuts are " + agreement(evidence),
                              {{"computed", 2 * evidence.steps() * evidence.microbatches() * cuts}},
                              {"nonzero_tensors"});
  }
  if (evidence.stages.crossings.empty()) {
    // One stage: the claim is that nothing crossed and nothing was moved, and what is looked at is the ranks' tables.
    judgement.look_at("tables", 2 * static_cast<std::int64_t>(evidence.candidate.ranks.size()));
    return judgement.conclude("one stage holds the whole model: no tensor crossed a cut and no byte was moved",
                              {{"tables", 1}});
  }
  if (judgement.count("crossings_of_the_candidate_alone") > 0)
    judgement.leave_out("tensors at cuts that only the candidate has: the reference is a pipeline itself");
  if (judgement.count("crossings") == judgement.count("crossings_of_the_candidate_alone")) {
    return judgement.conclude_as(Outcome::not_applicable, "the two pipelines have no cut in common");
  }
  if (!comparable_gradients) {
    return judgement.conclude_as(
        Outcome::not_run,
        "activations agree, but the boundary gradients carry another factor than the reference's "
        "(loss_scaling, boundary_gradient_factor), so that their bits cannot be compared");
  }
  const auto least =
      2 * evidence.steps() * evidence.microbatches() * static_cast<std::int64_t>(evidence.stages.crossings.size());
  return judgement.conclude(evidence.limits
                                ? "every tensor that crosses a cut is within its limit, and arrives as it was sent"
                                : "every tensor that crosses a cut is, at both ends, the reference's own",
                            {{"crossings", least}}, {"nonzero_tensors"});
}

}  // namespace plumbline::judging
