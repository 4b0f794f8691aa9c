// empty_partitions: a stage without layers holds what its units need and nothing else; one without any unit holds no
// parameter, keeps nothing for backward, and hands on what it got, bit for bit.
#include <algorithm>
#include <set>

#include "harness/judge/checks/checks.hpp"

namespace plumbline::judging {
namespace {

class EmptyStages {
 public:
  EmptyStages(const CellEvidence& evidence, Judgement& judgement) : evidence_(evidence), judgement_(judgement) {}

  void stage(const StageEntry& stage) {
    stage_ = &stage;
    judgement_.look_at("stages");
    tensors();
    if (!stage.units.empty()) return;
    judgement_.look_at("stages_without_units");
    for (std::int64_t step = 0; step < evidence_.steps(); ++step) {
      for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
        relay(step, m, "forward");
        relay(step, m, "backward");
      }
    }
  }

  /// A rank none of whose stages has a unit.
  void idle_rank(const RankRecord& rank) {
    judgement_.look_at("ranks_without_units");
    for (const auto& row : rank.memory) {
      demand_zero(row.step, rank.rank, "parameter_bytes", row.parameter_bytes);
      demand_zero(row.step, rank.rank, "gradient_bytes", row.gradient_bytes);
      demand_zero(row.step, rank.rank, "optimizer_bytes", row.optimizer_bytes);
      if (!row.activation_peak_bytes) continue;
      // Nothing is saved, so the most that lives is one tensor on its way: the largest of the step.
      const auto bytes =
          boundary_bytes(evidence_.reference_rows, evidence_.reference.manifest, row.step, evidence_.model.hidden);
      const auto most = bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
      judgement_.compare("activation_peaks");
      if (*row.activation_peak_bytes != most) {
        report(beside(row.step, 0, rank.rank), row.step, {}, rank.rank, "activation_peak_bytes", std::to_string(most),
               std::to_string(*row.activation_peak_bytes));
      }
    }
  }

 private:
  void tensors() {
    std::set<std::string> names;
    for (const auto& parameter : evidence_.model.parameters) {
      if (std::find(stage_->units.begin(), stage_->units.end(), parameter.unit) != stage_->units.end())
        names.insert(parameter.name);
    }
    std::set<std::string> held;
    for (std::int64_t step = -1; step < evidence_.steps(); ++step) {
      for (const auto& placed : evidence_.candidate_rows.tensors_of(step)) {
        const auto& row = *placed.row;
        if (row.stage != stage_->stage) continue;
        held.insert(row.name);
        if (!names.contains(row.name)) {
          report(at_structure(500), step, {}, placed.rank, row.name, "no " + row.kind + " on this stage", "a row");
        }
      }
    }
    judgement_.look_at("parameters", static_cast<std::int64_t>(held.size()));
    if (held != names && held.size() < names.size()) {
      report(at_structure(501), -1, {}, stage_->rank, "stage " + std::to_string(stage_->stage),
             std::to_string(names.size()) + " parameters", std::to_string(held.size()));
    }
  }

  const BoundaryRow* end(std::int64_t step, std::int64_t microbatch, const std::string& direction,
                         bool incoming) const {
    for (const auto& crossing : evidence_.stages.crossings) {
      for (const auto& placed : evidence_.candidate_rows.boundaries(step, microbatch, direction, crossing.cut)) {
        const auto& row = *placed.row;
        const bool here = incoming ? row.to_stage == stage_->stage : row.from_stage == stage_->stage;
        if (here && (row.side == "local" || row.side == (incoming ? "receive" : "send"))) return &row;
      }
    }
    return nullptr;
  }

  void relay(std::int64_t step, std::int64_t microbatch, const std::string& direction) {
    const bool between = std::any_of(evidence_.stages.crossings.begin(), evidence_.stages.crossings.end(),
                                     [&](const auto& crossing) { return crossing.from_stage == stage_->stage; });
    if (!between) return;  // before the first or behind the last unit nothing is handed on
    const auto *in = end(step, microbatch, direction, true), *out = end(step, microbatch, direction, false);
    judgement_.compare("relays");
    if (in && out && in->digest == out->digest && in->shape == out->shape && in->dtype == out->dtype) return;
    const auto moment = direction == "forward" ? at_forward(step, microbatch, stage_->stage, 1)
                                               : at_backward(step, microbatch, stage_->stage, 1);
    report(moment, step, microbatch, stage_->rank, direction + " relay of stage " + std::to_string(stage_->stage),
           in ? in->digest : "a tensor that came in", out ? out->digest : "none that went out", direction);
  }

  void demand_zero(std::int64_t step, std::int64_t rank, const std::string& what,
                   const std::optional<std::int64_t>& value) {
    if (!value) return;
    judgement_.compare("memory_cells");
    if (*value != 0) report(beside(step, 0, rank), step, {}, rank, what, "0", std::to_string(*value));
  }

  void report(const Moment& moment, std::int64_t step, std::optional<std::int64_t> microbatch, std::int64_t rank,
              const std::string& item, const std::string& expected, const std::string& got,
              const std::string& direction = "") {
    FirstDivergence divergence;
    divergence.step = step;
    divergence.microbatch = microbatch;
    if (stage_) divergence.stage = stage_->stage;
    divergence.rank = rank;
    divergence.direction = direction;
    divergence.item = item;
    divergence.expected = expected;
    divergence.got = got;
    divergence.words = (stage_ ? "stage " + std::to_string(stage_->stage) + " holds no layer, " : std::string()) +
                       step_words(step, microbatch) + ", rank " + std::to_string(rank) + ": " + item + " is " + got +
                       ", expected " + expected;
    judgement_.diverge(moment, std::move(divergence));
  }

  const CellEvidence& evidence_;
  Judgement& judgement_;
  const StageEntry* stage_ = nullptr;
};

}  // namespace

Judged check_empty_partitions(const CellEvidence& evidence) {
  Judgement judgement("empty_partitions", "empty_partitions", "exact: no parameter, no saved byte, relays bit for bit");
  std::int64_t layerless = 0, relays = 0;
  for (const auto& stage : evidence.stages.stages) {
    if (std::any_of(stage.units.begin(), stage.units.end(), is_layer)) continue;
    EmptyStages(evidence, judgement).stage(stage);
    ++layerless;
    const auto& crossings = evidence.stages.crossings;
    const bool relaying =
        stage.units.empty() && std::any_of(crossings.begin(), crossings.end(),
                                           [&](const auto& crossing) { return crossing.from_stage == stage.stage; });
    if (relaying) relays += 2 * evidence.steps() * evidence.microbatches();
  }
  for (const auto& rank : evidence.candidate.ranks) {
    const auto held = evidence.stages.stages_on(rank.rank);
    const bool idle =
        std::all_of(held.begin(), held.end(), [&](auto stage) { return evidence.stages.find(stage)->units.empty(); });
    if (idle && !held.empty()) EmptyStages(evidence, judgement).idle_rank(rank);
  }
  if (judgement.count("ranks_without_units") > 0 && judgement.count("memory_cells") == 0) {
    judgement.leave_out("bytes of ranks without units (memory.csv is empty)");
  }
  return judgement.conclude(std::to_string(layerless) + " stages without layers hold only what their units need",
                            {{"stages", 1}, {"relays", relays}});
}

}  // namespace plumbline::judging
