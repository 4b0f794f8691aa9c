// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/diff/diff.hpp"
#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/facts/fact.hpp"
#include "harness/judge/hints/hints.hpp"
#include "harness/judge/judge.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// The reason why rows after the start are not comparable; empty if both runs start from the same finite parameters.
std::string why_not_the_same_start(const StepEvidence& start) {
  const CellEvidence& evidence = start.cell;
  if (evidence.reference.manifest.level < RecordLevel::full || evidence.candidate.manifest.level < RecordLevel::full)
    return "";
  CheckResultBuilder builder("parameters", "R5", "");
  compare_columns(start, {Column::parameter}, builder);
  if (!builder.diverged()) return "";
  return fmt::format("the two runs start differently: {}{}", builder.conclude_as(Outcome::differs, "").result.reason,
                     !evidence.values->exact()
                         ? ". The start must have the same bits even within limits: give the candidate the reference's "
                           "(weights = \"<reference>/rank-0/dumps/step-initial.safetensors\")"
                         : "");
}

LocatedResult not_comparable(const std::vector<std::string>& differences) {
  CheckResultBuilder builder("data", "data",
                             "the same training: model, data, seed, dtype, optimizer, clip, order of accumulation");
  for (std::size_t i = 0; i < differences.size(); ++i) {
    builder.diverge(at_structure(Structure::records, static_cast<std::int64_t>(i)),
                    {.item = "manifest.json", .words = "the records cannot be compared: " + join(differences, "; ")});
  }
  return builder.conclude_as(Outcome::differs, "");
}

/// A record with impossible values fails the check, and never ends the sweep.
LocatedResult failed_by(const std::string& check, const std::exception& error) {
  CheckResultBuilder builder(check, check, "");
  builder.diverge(at_structure(Structure::impossible), {.item = "record", .words = describe_failure(error).words});
  return builder.conclude_as(Outcome::differs, "");
}

class CellJudge {
 public:
  CellJudge(const CellPlan& plan, RecordReading& reference, RecordReading& candidate, RecordReading* repeated)
      : plan_(plan), reference_(reference), candidate_(candidate), repeated_(repeated) {}

  JudgedChecks run() {
    prepare();
    walk();
    if (readable() && tier_) tier_->refuse_unfit();
    auto results = conclude();
    return {std::move(results), evidence_ ? evidence_->norm_diverged_at : std::nullopt};
  }

 private:
  /// A check: `object` is null once it has ended.
  struct ActiveCheck {
    const CheckDescriptor* check;
    std::unique_ptr<StepCheck> object;
    std::optional<LocatedResult> ended;
  };

  /// Everything that manifests and exit files decide.
  void prepare() {
    as_asked_.emplace(plan_, reference_, candidate_);
    if (plan_.calibration && readable()) tier_.emplace(*plan_.calibration, *reference_.record(), *candidate_.record());
    blocked_ = why_blocked(check_completion(plan_, reference_, candidate_));
    if (blocked_.empty()) {
      differences_ = why_not_comparable(*reference_.record(), *candidate_.record(),
                                        plan_.calibration ? ComparisonMode::calibrated : ComparisonMode::bits);
      if (!differences_.empty()) blocked_ = "the records cannot be compared: see data";
    }
    if (blocked_.empty())
      evidence_.emplace(plan_, *reference_.record(), *candidate_.record(), repeated_,
                        tier_ ? tier_->values() : in_bits());
    prepare_checks();
  }

  void prepare_checks() {
    checks_.clear();
    for (const auto& check : all_checks()) {
      if (check.make) prepare_check(check);
    }
  }

  /// The reason why only the checks of the request and of completion can be judged; empty if all can.
  std::string why_blocked(const LocatedResult& completion) const {
    if (completion.result.outcome != Outcome::holds) return "a run did not complete: see completion";
    if (reference_.record()->manifest.level == RecordLevel::none) return "the reference's record has level none";
    if (candidate_.record()->manifest.level == RecordLevel::none) return "the candidate's record has level none";
    return "";
  }

  template <typename Use>
  static void guard(ActiveCheck& active, Use use) {
    if (active.ended) return;
    try {
      use();
    } catch (const CalibrationError& error) {
      active.ended = without_looking(active.check->name, Outcome::incomplete, error.what());
      active.object.reset();
    } catch (const std::exception& error) {
      active.ended = failed_by(active.check->name, error);
      active.object.reset();
    }
  }

  void prepare_check(const CheckDescriptor& check) {
    ActiveCheck& active = checks_.emplace_back(ActiveCheck{&check, nullptr, std::nullopt});
    const auto end = [&](Outcome outcome, const std::string& why) {
      active.ended = without_looking(check.name, outcome, why);
    };
    if (check.name == "data" && !differences_.empty()) {
      active.ended = not_comparable(differences_);
      return;
    }
    if (!is_selected(plan_, check.name)) return end(Outcome::incomplete, "not requested in this case");
    if (candidate_.record() && check.not_applicable) {
      if (const auto reason = check.not_applicable(plan_, candidate_.record()->manifest))
        return end(Outcome::does_not_apply, *reason);
    }
    if (check.one_device_reference && reference_.record()) {
      const Manifest& manifest = reference_.record()->manifest;
      if (manifest.world_size > 1 || manifest.role == "pipeline") {
        return end(
            Outcome::does_not_apply,
            fmt::format(
                "the activation memory model needs a reference on one device; this one is a pipeline of {} ranks",
                manifest.world_size));
      }
    }
    const auto evaluates = [](const RecordReading& reading) {
      return !reading.record() || reading.record()->manifest.evaluation;
    };
    if (check.of_evaluations && !evaluates(reference_) && !evaluates(candidate_))
      return end(Outcome::does_not_apply, "neither run evaluates");
    if (!blocked_.empty()) return end(Outcome::incomplete, blocked_);
    if (evidence_->reference.manifest.level < check.level || evidence_->candidate.manifest.level < check.level)
      return end(Outcome::incomplete, "a record of level summary has no tensors");
    const std::string unseen =
        why_not_recorded(check, evidence_->reference.manifest, evidence_->candidate.manifest, false);
    if (!unseen.empty()) return end(Outcome::incomplete, unseen);
    evidence_->not_recorded =
        why_not_recorded(check, evidence_->reference.manifest, evidence_->candidate.manifest, true);
    guard(active, [&] { active.object = check.make(*evidence_); });
  }

  bool readable() const { return reference_.record() && candidate_.record(); }

  /// Reads each step of the records once, in order from the start.
  void walk() {
    RecordIndex before;
    for (std::optional<std::int64_t> step = -1; step && readable();) {
      go_to(*step);
      if (!readable()) break;
      as_asked_->step();
      if (evidence_) {
        StepEvidence now(*evidence_, *step, reference_.before(), candidate_.before(), std::move(before));
        note_diverged_coefficients(now);
        if (evidence_->values->exact()) hints_.note(now);
        show(now, *step <= evidence_->last_step());
        if (*step < 0) skip_after_different_start(now);
        before = std::move(now.reference_rows);
      }
      step = earlier(reference_.next_step(), candidate_.next_step());
      if (repeated_) step = earlier(step, repeated_->next_step());
    }
    if (!readable()) read_remaining_steps();
  }

  void go_to(std::int64_t step) {
    reference_.go_to(step);
    candidate_.go_to(step);
    if (repeated_) repeated_->go_to(step);
    if (tier_ && readable()) {
      tier_->go_to(step);
      if (evidence_) evidence_->values = &tier_->values();
    }
  }

  void show(const StepEvidence& now, bool of_the_run) {
    for (ActiveCheck& active : checks_) {
      if (!of_the_run && !active.check->beyond_the_run) continue;
      if (!is_behind_diverged_norm(*active.check, now.step)) guard(active, [&] { active.object->step(now); });
    }
  }

  bool is_behind_diverged_norm(const CheckDescriptor& check, std::int64_t step) const {
    if (!evidence_->norm_diverged_at || check.values == Values::none) return false;
    return check.values == Values::of_update ? step >= *evidence_->norm_diverged_at
                                             : step > *evidence_->norm_diverged_at;
  }

  void note_diverged_coefficients(const StepEvidence& now) {
    if (evidence_->norm_diverged_at || now.step < 0 || !evidence_->values->exact()) return;
    if (coefficients_diverge(now)) evidence_->norm_diverged_at = now.step;
  }

  /// Adds what may explain other bits after an update whose coefficients are unknown.
  void name_unrecorded_norm(CheckResult& result) const {
    if ((result.name != "parameters" && result.name != "applied") || !result.first_divergence || !evidence_ ||
        evidence_->norm_diverged_at)
      return;
    const Record &theirs = evidence_->reference, &mine = evidence_->candidate;
    const bool unknown = evidence_->norm_by_rank() && theirs.manifest.clip_norm && mine.manifest.clip_norm &&
                         !(recorded_throughout(theirs, {"norm"}) && recorded_throughout(mine, {"norm"}));
    if (!unknown || result.first_divergence->step < 0 || result.first_divergence->why != "the bits differ") return;
    const std::string words =
        "the trainer clips by a norm that was not recorded, and its rounding may explain this: call record.gradients() "
        "before clipping, and clip by the result of record.norm(total_norm)";
    result.first_divergence->words += "; " + words;
    result.reason += "; " + words;
  }

  /// Adds what explains the first divergence to its words.
  void add_hint(CheckResult& result) const {
    const std::string words = hints_.of(result);
    if (words.empty()) return;
    result.first_divergence->words += "; " + words;
    result.reason += "; " + words;
  }

  void skip_after_different_start(const StepEvidence& start) {
    const std::string why = why_not_the_same_start(start);
    if (why.empty()) return;
    for (ActiveCheck& active : checks_) {
      if (!active.check->same_start || !active.object) continue;
      active.object.reset();
      active.ended = without_looking(active.check->name, Outcome::incomplete, why);
    }
  }

  /// If a record cannot be read, only the other one's request can be judged. Read that one to its end to report errors,
  /// then replay it for as_asked.
  void read_remaining_steps() {
    checks_.clear();
    evidence_.reset();
    tier_.reset();
    differences_.clear();
    reference_.read_to_end();
    candidate_.read_to_end();
    as_asked_.reset();
    for (RecordReading* record : {&reference_, &candidate_}) {
      if (record->record()) record->begin_again();
    }
    as_asked_.emplace(plan_, reference_, candidate_);
    for (std::optional<std::int64_t> step = -1; step;) {
      reference_.go_to(*step);
      candidate_.go_to(*step);
      as_asked_->step();
      step = earlier(reference_.next_step(), candidate_.next_step());
    }
    blocked_ = why_blocked(check_completion(plan_, reference_, candidate_));
    prepare_checks();
  }

  std::vector<LocatedResult> conclude() {
    std::vector<LocatedResult> judged;
    judged.push_back(as_asked_->conclude());
    LocatedResult completion = check_completion(plan_, reference_, candidate_);
    if (const std::string late = why_blocked(completion); !late.empty() && blocked_ != late) {
      // The cause of a run's end is known only at the end of its tables: earlier findings are discarded.
      blocked_ = late;
      differences_.clear();
      prepare_checks();
    }
    judged.push_back(std::move(completion));
    for (ActiveCheck& active : checks_) {
      guard(active, [&] { active.ended = active.object->conclude(); });
      add_hint(active.ended->result);
      name_unrecorded_norm(active.ended->result);
      judged.push_back(std::move(*active.ended));
    }
    return judged;
  }

  const CellPlan& plan_;
  RecordReading &reference_, &candidate_;
  RecordReading* repeated_;
  std::optional<AsAskedCheck> as_asked_;
  std::optional<CalibratedTier> tier_;
  std::optional<CellEvidence> evidence_;
  std::string blocked_;
  std::vector<std::string> differences_;  ///< reasons why the records are not comparable
  std::vector<ActiveCheck> checks_;
  Hints hints_;
};

}  // namespace

JudgedChecks judge_checks(const CellPlan& plan, RecordReading& reference, RecordReading& candidate,
                          RecordReading* repeated) {
  return CellJudge(plan, reference, candidate, repeated).run();
}

}  // namespace plumbline::judging
