// SPDX-License-Identifier: BSD-3-Clause
// empty_partitions: a stage without layers has only what its units need; a stage without units has no parameter, keeps
// nothing for backward, and passes tensors on unchanged.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class EmptyStage {
 public:
  EmptyStage(const CellEvidence& evidence, const StageEntry& stage, CheckResultBuilder& builder)
      : evidence_(evidence), stage_(&stage), builder_(builder) {
    builder_.inspect("stages");
    if (stage.units.empty()) builder_.inspect("stages_without_units");
    for (const auto& parameter : evidence_.model.parameters) {
      if (std::ranges::find(stage.units, parameter.unit) != stage.units.end()) names_.insert(parameter.name);
    }
  }

  void step(const StepEvidence& now) {
    now_ = &now;
    tensors();
    if (!relays() || now.step < 0) return;
    for (std::int64_t m = evidence_.first_own(); m < evidence_.end_own(); ++m) {
      relay(now.step, m, "forward");
      relay(now.step, m, "backward");
    }
  }

  /// A stage without units; but nothing is sent before the first unit or after the last.
  bool relays() const {
    return stage_->units.empty() && std::ranges::any_of(evidence_.stages.crossings, [&](const Crossing& crossing) {
             return crossing.from_stage == stage_->stage;
           });
  }

  void conclude() {
    builder_.inspect("parameters", std::ssize(held_));
    if (held_.size() < names_.size()) {
      report(at_structure(Structure::layerless_parameters), -1, {}, stage_->rank,
             "stage " + std::to_string(stage_->stage), std::to_string(names_.size()) + " parameters",
             std::to_string(held_.size()));
    }
  }

 private:
  void tensors() {
    for (const auto& placed : now_->candidate_rows.all_tensors()) {
      const auto& row = *placed.row;
      if (row.stage != stage_->stage) continue;
      held_.insert(row.name);
      if (names_.contains(row.name)) continue;
      report(at_structure(Structure::layerless_stages), now_->step, {}, placed.rank, row.name,
             fmt::format("no {} on this stage", row.kind), "a row");
    }
  }

  const BoundaryRow* end(std::int64_t microbatch, const std::string& direction, bool incoming) const {
    for (const auto& crossing : evidence_.stages.crossings) {
      for (const auto& placed : now_->candidate_rows.boundaries(microbatch, direction, crossing.cut)) {
        const auto& row = *placed.row;
        const bool here = incoming ? row.to_stage == stage_->stage : row.from_stage == stage_->stage;
        if (here && (row.side == "local" || row.side == (incoming ? "receive" : "send"))) return &row;
      }
    }
    return nullptr;
  }

  void relay(std::int64_t step, std::int64_t microbatch, const std::string& direction) {
    const auto *in = end(microbatch, direction, true), *out = end(microbatch, direction, false);
    const bool may_lack = !evidence_.candidate.manifest.recorded({"sends", "receives", "boundaries"});
    if (may_lack && (!in || !out)) return;
    builder_.compare("relays");
    if (in && out && in->digest == out->digest && in->shape == out->shape && in->dtype == out->dtype) return;
    report(at_boundary(step, microbatch, direction, stage_->stage, BoundaryEnd::received), step, microbatch,
           stage_->rank, fmt::format("{} relay of stage {}", direction, stage_->stage),
           in ? in->digest : "a tensor that came in", out ? out->digest : "none that went out", direction);
  }

  void report(const ExecutionPoint& point, std::int64_t step, std::optional<std::int64_t> microbatch, std::int64_t rank,
              const std::string& item, const std::string& expected, const std::string& got,
              const std::string& direction = "") {
    builder_.diverge(point, {.step = step,
                             .microbatch = microbatch,
                             .stage = stage_->stage,
                             .rank = rank,
                             .direction = direction,
                             .item = item,
                             .expected = expected,
                             .got = got,
                             .why = "the stage holds no layer"});
  }

  const CellEvidence& evidence_;
  const StageEntry* stage_;
  CheckResultBuilder& builder_;
  const StepEvidence* now_ = nullptr;
  std::set<std::string> names_, held_;  ///< names of parameters: expected from its units, and listed
};

/// A rank without units.
class IdleRank {
 public:
  IdleRank(const RankRecord& rank, CheckResultBuilder& builder) : rank_(rank), builder_(builder) {
    builder_.inspect("ranks_without_units");
  }

  void step(const StepEvidence& now) {
    for (const auto& row : rank_.memory) {
      demand_zero(row.step, "parameter_bytes", row.parameter_bytes);
      demand_zero(row.step, "gradient_bytes", row.gradient_bytes);
      demand_zero(row.step, "optimizer_bytes", row.optimizer_bytes);
      if (!row.activation_peak_bytes || !now.cell.model.llama) continue;
      // Nothing is saved, so at most one boundary tensor is alive: the largest of the step.
      const auto bytes = now.boundary_bytes();
      const auto most =
          bytes.empty() ? 0
                        : *std::max_element(bytes.begin() + now.cell.first_own(), bytes.begin() + now.cell.end_own());
      builder_.compare("activation_peaks");
      if (*row.activation_peak_bytes != most)
        report(row.step, "activation_peak_bytes", std::to_string(most), *row.activation_peak_bytes);
    }
  }

 private:
  void demand_zero(std::int64_t step, const std::string& what, const std::optional<std::int64_t>& value) {
    if (!value) return;
    builder_.compare("memory_cells");
    if (*value != 0) report(step, what, "0", *value);
  }

  void report(std::int64_t step, const std::string& item, const std::string& expected, std::int64_t got) {
    builder_.diverge(off_path_action(step, 0, rank_.rank), {.step = step,
                                                            .rank = rank_.rank,
                                                            .item = item,
                                                            .expected = expected,
                                                            .got = std::to_string(got),
                                                            .why = "the rank holds no unit"});
  }

  const RankRecord& rank_;
  CheckResultBuilder& builder_;
};

class EmptyPartitionsCheck : public StepCheck {
 public:
  explicit EmptyPartitionsCheck(const CellEvidence& evidence)
      : StepCheck(evidence,
                  {"empty_partitions", "empty_partitions", "exact: no parameter, no saved byte, relays bit for bit"}) {
    for (const auto& stage : evidence.stages.stages) {
      if (!holds_no_layer(stage, evidence.stages.stages)) continue;
      stages_.emplace_back(evidence, stage, builder_);
      if (stages_.back().relays()) relays_ += 2 * evidence.steps() * evidence.own_microbatches();
    }
    for (const auto& rank : evidence.candidate.ranks) {
      const auto held = evidence.stages.stages_on(rank.rank);
      const bool idle =
          std::ranges::all_of(held, [&](auto stage) { return evidence.stages.find(stage)->units.empty(); });
      if (idle && !held.empty()) idle_ranks_.emplace_back(rank, builder_);
    }
  }

  void step(const StepEvidence& now) override {
    for (auto& stage : stages_) stage.step(now);
    for (auto& rank : idle_ranks_) rank.step(now);
  }

  LocatedResult conclude() override {
    for (auto& stage : stages_) stage.conclude();
    if (!idle_ranks_.empty() && builder_.count("memory_cells") == 0) {
      builder_.leave_out("bytes of ranks without units (memory.csv is empty)");
    }
    return builder_.conclude(
        "only what their units need is held by " + quantity(std::ssize(stages_), "stage") + " without layers",
        {{"stages", 1}, {"relays", relays_}});
  }

 private:
  std::vector<EmptyStage> stages_;
  std::vector<IdleRank> idle_ranks_;
  std::int64_t relays_ = 0;
};

std::optional<std::string> no_empty_stage(const CellPlan& plan, const Manifest& candidate) {
  const auto& stages = plan.request && plan.request->stages ? *plan.request->stages : candidate.stages;
  for (const auto& stage : stages) {
    if (holds_no_layer(stage, stages)) return std::nullopt;
  }
  return "every stage of this partition holds a layer";
}

}  // namespace

CheckDescriptor empty_partitions_check() {
  return {.name = "empty_partitions",
          .place = 130,
          .claims =
              "a stage without layers holds what its units need and nothing else, and one without units forwards "
              "what it received.",
          .needs_in_words =
              "level full, and a partition with such a stage, by the request if there is one; else it does not "
              "apply.",
          .cannot_see = "stages with layers.",
          .level = RecordLevel::full,
          .needs_of_reference = {"inputs", "labels"},
          .compares_without = {"sends", "receives", "boundaries"},
          .not_applicable = no_empty_stage,
          .make = make_check<EmptyPartitionsCheck>};
}

}  // namespace plumbline::judging
