// SPDX-License-Identifier: BSD-3-Clause
// nonzero_gradients: in both records every parameter has a gradient in every step, finite and not all zero; in an
// untied embedding exactly the rows of live tokens are non-zero; and no boundary gradient of a microbatch with valid
// labels is all zero.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/expected/model.hpp"
#include "harness/judge/facts/expected.hpp"

namespace plumbline::judging {
namespace {

class NonzeroGradients {
 public:
  NonzeroGradients(const CellEvidence& evidence, const Record& record, std::string whose, CheckResultBuilder& builder)
      : evidence_(evidence), record_(record), whose_(std::move(whose)), builder_(builder) {}

  void step(const StepEvidence& now) {
    now_ = &now;
    rows_ = &record_ == &evidence_.candidate ? &now.candidate_rows : &now.reference_rows;
    parameters();
    boundaries();
  }

  bool rows_rule_left_out() const { return rows_rule_left_out_; }
  /// Names of parameters with a finite gradient that is not zero.
  const std::set<std::string>& seen() const { return seen_; }

 private:
  void parameters() {
    const std::int64_t step = now_->step;
    for (std::size_t i = 0; i < evidence_.model.parameters.size(); ++i) {
      const auto& parameter = evidence_.model.parameters[i];
      const auto position = gradient_position(evidence_.model, evidence_.candidate.manifest, i);
      const auto& found = rows_->tensors("gradient", parameter.name);
      if (found.empty() && is_frozen(record_.manifest, parameter.name)) continue;
      if (found.empty() && unused(*now_, parameter.name)) {
        builder_.inspect(absent_in_both);
        continue;
      }
      if (found.empty()) report(at_gradient(step, position, 0), step, {}, parameter.name, "a gradient", "none");
      for (const auto& placed : found) gradient(step, position, placed);
    }
  }

  /// Detects a boundary gradient that was lost in transfer. A microbatch without valid labels correctly has zeros
  /// there.
  void boundaries() {
    for (const auto& placed : rows_->all_boundaries()) {
      const BoundaryRow& row = *placed.row;
      if (row.direction != "backward") continue;
      const MicrobatchRow* sizes = now_->reference_rows.microbatch(row.microbatch);
      if (!sizes || sizes->valid_tokens == 0) continue;
      builder_.inspect("boundary_gradients");
      if (row.digest != zeros_.digest(row.dtype, row.shape) || as_in_the_reference(row)) continue;
      const auto cut = evidence_.model.unit_position(row.cut).value_or(0);
      report(at_boundary(row.step, row.microbatch, row.direction, cut), row.step, placed.rank, row.cut,
             "a gradient that is not all zero", "zeros at the boundary, microbatch " + std::to_string(row.microbatch),
             row.microbatch);
    }
  }

  void gradient(std::int64_t step, std::int64_t position, const Located<TensorRow>& placed) {
    const TensorRow& row = *placed.row;
    const auto point = at_gradient(step, position, row.stage);
    builder_.inspect("tensors");
    builder_.inspect("elements", element_count(row.shape));
    builder_.inspect("nonzero_elements", row.nonzero);
    if (row.nan + row.inf > 0)
      return report(point, step, placed.rank, row.name, "finite numbers", not_finite_words(row));
    if (row.nonzero > 0 && row.digest == zeros_.digest(row.dtype, row.shape))
      return report(point, step, placed.rank, row.name,
                    fmt::format("the digest of {} elements that are not 0", row.nonzero), "the digest of zeros");
    if (row.nonzero <= 0 && attends_to_itself_alone(row.name)) return;
    if (row.nonzero <= 0 && as_in_the_reference(row)) return;
    if (row.nonzero <= 0) return report(point, step, placed.rank, row.name, "a non-zero gradient", "all zero");
    seen_.insert(row.name);
    if (!evidence_.model.has_sizes() || row.name != "model.embed_tokens.weight" || evidence_.model.tied) return;
    const auto& steps = rows_->steps();
    const bool tokens_recorded = recorded_throughout(record_, {"inputs", "labels"});
    if (!row.nonzero_rows || steps.empty() || !steps.front().row->live_tokens || !tokens_recorded) {
      rows_rule_left_out_ = true;
      return;
    }
    builder_.compare_or_inspect(&record_ == &evidence_.candidate, "embedding_rows", *row.nonzero_rows);
    const auto live = *steps.front().row->live_tokens;
    // Live tokens are not recorded, so it is unknown whether the pad token is one of them.
    const std::int64_t least = evidence_.model.pad_token ? live - 1 : live;
    if (*row.nonzero_rows == live || *row.nonzero_rows == least) return;
    report(point, step, placed.rank, row.name,
           fmt::format("{} non-zero rows, one for each live token{}", live,
                       least < live ? " (or one fewer: the pad token's row gets none)" : ""),
           std::to_string(*row.nonzero_rows));
  }

  /// A token that attends only to itself has attention 1 for any query and key: in a step whose rows all have length 1
  /// their gradients are correctly zero.
  bool attends_to_itself_alone(const std::string& name) {
    const bool of_query_or_key =
        name.find(".self_attn.q_proj.") != std::string::npos || name.find(".self_attn.k_proj.") != std::string::npos;
    if (!of_query_or_key) return false;
    for (std::int64_t m = 0; m < evidence_.microbatches(); ++m) {
      const MicrobatchRow* sizes = now_->reference_rows.microbatch(m);
      if (sizes && sizes->valid_tokens > 0 && sizes->sequence_length > 1) return false;
    }
    builder_.inspect("gradients_rightly_zero");
    return true;
  }

  /// In other models than a Llama zero gradients may be correct: an unused expert, a dead filter. If the reference's
  /// are non-zero, the candidate's must be, too.
  bool as_in_the_reference(const TensorRow& row) {
    if (evidence_.model.has_sizes()) return false;
    const auto& theirs = now_->reference_rows.tensors("gradient", row.name);
    if (theirs.empty() || theirs.front().row->nonzero > 0) return false;
    builder_.inspect("gradients_zero_in_both");
    return true;
  }
  bool as_in_the_reference(const BoundaryRow& row) {
    if (evidence_.model.has_sizes()) return false;
    const auto* theirs = now_->reference_rows.boundary(row.microbatch, row.direction, row.cut);
    if (!theirs || theirs->digest != row.digest) return false;
    builder_.inspect("boundary_gradients_zero_in_both");
    return true;
  }

  void report(const ExecutionPoint& point, std::int64_t step, std::optional<std::int64_t> rank, const std::string& item,
              const std::string& expected, const std::string& got,
              std::optional<std::int64_t> microbatch = std::nullopt) {
    builder_.diverge(point, {.step = step,
                             .microbatch = microbatch,
                             .rank = rank,
                             .direction = microbatch ? "backward" : "",
                             .source = whose_,
                             .item = item,
                             .what = "gradient of " + item,
                             .expected = expected,
                             .got = got});
  }

  const CellEvidence& evidence_;
  const Record& record_;
  const StepEvidence* now_ = nullptr;
  const RecordIndex* rows_ = nullptr;  ///< of the record's current step
  std::string whose_;
  CheckResultBuilder& builder_;
  ZeroDigests zeros_;
  bool rows_rule_left_out_ = false;
  std::set<std::string> seen_;
};

class NonzeroGradientsCheck : public StepCheck {
 public:
  explicit NonzeroGradientsCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"nonzero_gradients", "nonzero_gradients", "every gradient present, finite and non-zero"}),
        reference_(evidence, evidence.reference, "reference", builder_),
        candidate_(evidence, evidence.candidate, "candidate", builder_) {}

  void step(const StepEvidence& now) override {
    if (now.step < 0) return;
    if (now.skipped()) {
      ++skipped_;
      return;
    }
    if (first_) none_told_ = without_gradients(now);
    const bool first = std::exchange(first_, false);
    if (none_told_) return;
    reference_.step(now);
    candidate_.step(now);
    note_idle(now, first);
  }

  LocatedResult conclude() override {
    builder_.evidence("parameters", std::ssize(candidate_.seen()));
    builder_.evidence("lm_head.weight", candidate_.seen().contains("lm_head.weight") ? 1 : 0);
    if (none_told_) return builder_.conclude_as(Outcome::does_not_apply, no_gradient_compared);
    if (builder_.count("gradients_zero_in_both") > 0)
      builder_.not_shown("dropped gradients, where both records have zeros");
    if (reference_.rows_rule_left_out() || candidate_.rows_rule_left_out()) {
      builder_.leave_out("which rows of the embedding are non-zero (live_tokens or nonzero_rows is absent)");
    }
    if (!idle_.empty())
      builder_.not_shown(fmt::format("{} a gradient in either run (unused or detached)",
                                     idle_.size() > 1
                                         ? fmt::format("{} and {} more never get", idle_.front(), idle_.size() - 1)
                                         : idle_.front() + " never gets"));
    const auto parameters =
        static_cast<std::int64_t>(evidence_.model.parameters.size() - evidence_.candidate.manifest.frozen.size());
    return builder_.conclude(
        builder_.count(absent_in_both) > 0
            ? "every gradient in both records is finite and non-zero; parameters that a step does not change lack one"
            : "every parameter has a finite, non-zero gradient in every step of both records",
        {{"tensors", 2 * parameters * (evidence_.steps() - skipped_) - builder_.count(absent_in_both)},
         {"nonzero_elements", 1}});
  }

 private:
  /// Keeps the trainable parameters without a gradient in either record so far, in the model's order.
  void note_idle(const StepEvidence& now, bool first) {
    if (first) {
      for (const auto& parameter : evidence_.model.parameters) {
        if (!is_frozen(evidence_.reference.manifest, parameter.name)) idle_.push_back(parameter.name);
      }
    }
    std::erase_if(idle_, [&](const std::string& name) { return !unused(now, name); });
  }

  NonzeroGradients reference_, candidate_;
  bool none_told_ = false, first_ = true;
  std::int64_t skipped_ = 0;
  std::vector<std::string> idle_;
};

}  // namespace

CheckDescriptor nonzero_gradients_check() {
  return {.name = "nonzero_gradients",
          .claims =
              "in both records every parameter has a finite gradient in every step, and it is not all zero. In an "
              "untied embedding exactly the rows of ids that can have a gradient are not zero.",
          .cannot_see = "wrong values that are not zero.",
          .level = RecordLevel::full,
          .same_start = true,
          .needs = {"gradients"},
          .needs_of_reference = {"inputs", "labels"},
          .make = make_check<NonzeroGradientsCheck>};
}

}  // namespace plumbline::judging
