// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/tensor_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/judge/expected/stage_map.hpp"
#include "harness/judge/hints/tensor_look.hpp"
#include "record/precision.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

Finding at_tensor(const std::string& kind, std::int64_t step, std::optional<std::int64_t> stage,
                  std::optional<std::int64_t> rank, const std::string& name) {
  return {.step = step, .stage = stage, .rank = rank, .item = name, .what = fmt::format("{} {}", kind, name)};
}

/// A row of `kind` that should not be there.
Finding extra_row(const std::string& source, const Located<TensorRow>& placed, const std::string& why) {
  const TensorRow& row = *placed.row;
  Finding finding = at_tensor(row.kind, row.step, row.stage, placed.rank, row.name);
  finding.source = source;
  finding.expected = "no row";
  finding.got = "a row";
  finding.why = why;
  return finding;
}

/// Comparison of their sizes, from the tables.
std::string size_words(const TensorRow& theirs, const TensorRow& mine) {
  const auto ratio = [](double got, double expected) {
    return expected == 0 ? to_text(got) + " against 0" : to_text(got / expected) + " times";
  };
  const std::string l2 = ratio(mine.l2, theirs.l2);
  const std::string most = ratio(static_cast<double>(mine.max_abs), static_cast<double>(theirs.max_abs));
  return fmt::format("l2 {} and max_abs {} the reference's", l2, most);
}

/// The reason why two rows with one digest cannot both be correct; empty if they can. A writer may sum the squares in
/// any order: for n terms each addition and product rounds once, and so do root and division.
std::string why_not_of_one_tensor(const TensorRow& theirs, const TensorRow& mine) {
  const auto differ = [](const std::string& what, auto expected, auto got) {
    return fmt::format("the bits are the same, but {} is {} in the reference and {} in the candidate", what,
                       to_text(expected), to_text(got));
  };
  if (mine.nonzero != theirs.nonzero) return differ("nonzero", theirs.nonzero, mine.nonzero);
  if (mine.nonzero_rows && theirs.nonzero_rows && *mine.nonzero_rows != *theirs.nonzero_rows)
    return differ("nonzero_rows", *theirs.nonzero_rows, *mine.nonzero_rows);
  if (!same_bits(mine.max_abs, theirs.max_abs)) return differ("max_abs", theirs.max_abs, mine.max_abs);
  const double limit = static_cast<double>(element_count(mine.shape) + 2) * std::ldexp(std::abs(theirs.l2), -53);
  const bool close = std::isfinite(limit) && std::abs(mine.l2 - theirs.l2) <= limit;
  if (!(mine.l2 == theirs.l2 || close)) return differ("l2", theirs.l2, mine.l2);
  return "";
}

/// True if the reference's update leaves the parameter as it was.
bool unchanged(const StepEvidence& now, const std::string& parameter) {
  const auto& after = now.reference_rows.tensors("parameter", parameter);
  const auto& before = now.reference_rows_before.tensors("parameter", parameter);
  return !after.empty() && !before.empty() && after.front().row->digest == before.front().row->digest;
}

/// One parameter of one stage, in both records.
class RowComparison {
 public:
  RowComparison(const StepEvidence& now, const std::string& kind, CheckResultBuilder& builder)
      : now_(now), evidence_(now.cell), step_(now.step), kind_(kind), builder_(builder) {}

  void run(const ExpectedParameter& parameter, std::int64_t position, const StageEntry& stage) {
    point_ = tensor_point(step_, kind_, position, stage.stage);
    finding_ = at_tensor(kind_, step_, stage.stage, stage.rank, parameter.name);
    const TensorRow* mine = candidate_row(parameter, stage);
    const auto& rows = now_.reference_rows.tensors(kind_, parameter.name);
    const TensorRow* theirs = rows.empty() ? nullptr : rows.front().row;
    // A parameter that an external trainer's optimiser updates itself, or none, is no copy of a master.
    const bool may_lack = kind_ == "copy"
                              ? of_external_trainers()
                              : kind_ != "parameter" && is_frozen(evidence_.reference.manifest, parameter.name);
    if (may_lack && !mine && !theirs) return;
    const bool may_be_absent = kind_ != "parameter" && (unused(now_, parameter.name) || has_moments_of_its_own() ||
                                                        not_yet_updated(parameter.name));
    if (may_be_absent && !mine && !theirs) return builder_.inspect(absent_in_both);
    if (kind_ == "gradient" && now_.skipped()) {  // it was not applied
      const auto overflown = [](const TensorRow& row) { return row.nan + row.inf > 0; };
      if (!mine || !theirs || (overflown(*mine) && overflown(*theirs))) return builder_.inspect(absent_in_both);
    }
    if ((!theirs && not_recorded(evidence_.reference)) || (!mine && not_recorded(evidence_.candidate))) return;
    if (!theirs) return report("a row", "none", "the reference has no such row" + hint());
    if (theirs->nan + theirs->inf > 0) {
      return report("finite numbers", not_finite_words(*theirs),
                    "the reference's own tensor holds " + not_finite_words(*theirs));
    }
    if (!has_moments_of_its_own() && theirs->shape != parameter.shape) {
      return report(shape_text(parameter.shape), shape_text(theirs->shape),
                    "the reference's own has another shape than the parameter");
    }
    if (!mine) return report("a row", "none", "the candidate has no such row" + hint());
    compare(*theirs, *mine);
  }

  void report_unheld(const ExpectedParameter& parameter, std::int64_t position) {
    point_ = tensor_point(step_, kind_, position, 0);
    finding_ = at_tensor(kind_, step_, std::nullopt, std::nullopt, parameter.name);
    report("a stage that holds " + parameter.unit, "none", "no stage holds " + parameter.unit);
  }

  const std::set<const TensorRow*>& seen() const { return seen_; }

 private:
  bool of_external_trainers() const {
    return evidence_.reference.manifest.traits.may_lack && evidence_.candidate.manifest.traits.may_lack;
  }
  std::string hint() const { return kind_ == "parameter" ? names_hint(evidence_.candidate.manifest) : std::string(); }

  /// True for a moment if, by external records, no step has updated the parameter so far: gradients of several steps
  /// are summed for one update.
  bool not_yet_updated(const std::string& parameter) const {
    if (!kind_.starts_with("moment") || !now_.cell.reference.manifest.traits.may_lack) return false;
    return unchanged(now_, parameter) && now_.reference_rows_before.tensors(kind_, parameter).empty();
  }

  /// True for a moment of an optimiser with an unknown formula or with variants: its shape may differ from the
  /// parameter's, and it may be missing.
  bool has_moments_of_its_own() const {
    if (!kind_.starts_with("moment")) return false;
    const Json& optimizer = evidence_.reference.manifest.json.at("optimizer");
    const std::string name = optimizer.value("name", "");
    return (name != "adamw" && name != "sgd") || optimizer.contains("groups");
  }

  bool not_recorded(const Record& record) const {
    if (kind_ == "copy") return false;
    return !record.manifest.recorded({kind_.starts_with("moment") ? "moments"
                                      : kind_ == "applied"        ? kind_
                                                                  : kind_ + "s"});
  }

  const TensorRow* candidate_row(const ExpectedParameter& parameter, const StageEntry& stage) {
    const TensorRow* found = nullptr;
    for (const auto& placed : now_.candidate_rows.tensors(kind_, parameter.name)) {
      if (placed.row->stage != stage.stage || placed.rank != stage.rank || found) continue;
      found = placed.row;
      seen_.insert(found);
    }
    return found;
  }

  void compare(const TensorRow& theirs, const TensorRow& mine) {
    builder_.compare("tensors");
    builder_.compare("elements", element_count(mine.shape));
    builder_.compare("nonzero_elements", theirs.nonzero);
    if (mine.nan + mine.inf > 0) {
      return report("finite numbers", not_finite_words(mine), "the candidate's tensor holds " + not_finite_words(mine));
    }
    if (mine.dtype != theirs.dtype) return report(theirs.dtype, mine.dtype, "the dtype differs");
    if (mine.shape != theirs.shape) {
      return report(shape_text(theirs.shape), shape_text(mine.shape), "the shape differs");
    }
    if (mine.digest == theirs.digest) {
      const std::string why = why_not_of_one_tensor(theirs, mine);
      if (!why.empty()) return report("the statistics of the same tensor", "different ones", why);
    }
    // If the start differs in bits, nothing later is comparable.
    ValueComparison& values = step_ < 0 ? in_bits() : *evidence_.values;
    const auto wrong = builder_.take(values.tensor(finding_.rank.value_or(0), theirs, mine));
    if (!wrong) return;
    finding_.size = size_words(theirs, mine);
    report(wrong->expected, wrong->got, wrong->why, look_at_tensor(now_, theirs, mine));
  }

  /// `look`: added to the words.
  void report(const std::string& expected, const std::string& got, const std::string& why,
              const std::string& look = "") {
    Finding finding = finding_;
    finding.expected = expected;
    finding.got = got;
    finding.why = why;
    finding.words = words_of(finding) + look;
    builder_.diverge(point_, std::move(finding));
  }

  const StepEvidence& now_;
  const CellEvidence& evidence_;
  std::int64_t step_;
  const std::string& kind_;
  CheckResultBuilder& builder_;
  ExecutionPoint point_;
  Finding finding_;
  std::set<const TensorRow*> seen_;
};

std::int64_t position_of(const CellEvidence& cell, const std::string& kind, const std::string& parameter) {
  return position_of(cell.model, cell.candidate.manifest, kind, parameter);
}

void report_rows_too_many(const StepEvidence& now, const std::string& kind, const std::set<const TensorRow*>& seen,
                          CheckResultBuilder& builder) {
  for (const auto& placed : now.candidate_rows.all_tensors()) {
    const TensorRow& row = *placed.row;
    if (row.kind != kind || seen.contains(&row)) continue;
    builder.diverge(tensor_point(now.step, kind, position_of(now.cell, kind, row.name), row.stage),
                    extra_row("", placed, "a row that the partition does not imply, or a duplicate"));
  }
}

/// Finds rows of the reference with unknown names, which no lookup by the model's names would reach.
void report_rows_of_no_parameter(const StepEvidence& now, const std::string& kind, CheckResultBuilder& builder) {
  for (const auto& placed : now.reference_rows.all_tensors()) {
    const TensorRow& row = *placed.row;
    if (row.kind != kind || now.cell.model.parameter_position(row.name)) continue;
    builder.diverge(
        tensor_point(now.step, kind, 0, row.stage),
        extra_row("reference", placed, "not a parameter of this model" + names_hint(now.cell.reference.manifest)));
  }
}

}  // namespace

ExecutionPoint tensor_point(std::int64_t step, const std::string& kind, std::int64_t position, std::int64_t stage) {
  if (kind == "gradient") return at_gradient(step, position, stage);
  if (kind == "applied") return in_step(step, StepPhase::applied, position, 0, stage);
  const StateKind state = kind == "parameter" ? StateKind::parameter
                          : kind == "copy"    ? StateKind::copy
                          : kind == "moment1" ? StateKind::moment1
                          : kind == "moment2" ? StateKind::moment2
                                              : StateKind::buffer;
  return at_parameter(step, position, state, stage);
}

std::int64_t gradient_position(const ExpectedModel& model, const Manifest& candidate, std::size_t parameter) {
  const auto& parameters = model.parameters;
  // A tied weight has one gradient, that of the embedding.
  for (const auto& names : candidate.tied) {
    if (std::ranges::find(names, parameters[parameter].name) == names.end()) continue;
    for (const auto& name : names) {
      const auto other = model.parameter_position(name);
      if (other) parameter = std::min(parameter, static_cast<std::size_t>(*other));
    }
  }
  // In the order of computation, which differs from the order of a Llama's names: norms are listed after what they
  // precede.
  static const std::vector<std::string> of_layer = {"input_layernorm",  "self_attn.q_proj", "self_attn.k_proj",
                                                    "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm",
                                                    "mlp.gate_proj",    "mlp.up_proj",      "mlp.down_proj"};
  constexpr std::int64_t apart = 32;  // more than the kinds of parameters in a layer
  const std::string& unit = parameters[parameter].unit;
  if (!model.llama || !is_layer(unit)) return apart * static_cast<std::int64_t>(parameter);
  std::size_t first = parameter;
  while (first > 0 && parameters[first - 1].unit == unit) --first;
  const auto found = std::ranges::find_if(of_layer, [&](const std::string& name) {
    return parameters[parameter].name.find(fmt::format(".{}.", name)) != std::string::npos;
  });
  return apart * static_cast<std::int64_t>(first) + (found - of_layer.begin());
}

std::int64_t position_of(const ExpectedModel& model, const Manifest& candidate, const std::string& kind,
                         const std::string& parameter) {
  const auto place = model.parameter_position(parameter);
  if (!place || kind != "gradient") return place.value_or(0);
  return gradient_position(model, candidate, static_cast<std::size_t>(*place));
}

std::string names_hint(const Manifest& manifest) {
  return !manifest.traits.own ? "; if only the names differ, give the whole model's by names= (and units=) of "
                                "watch_model, watch_stage or watch_pipelining"
                              : "";
}

std::string not_finite_words(const TensorRow& row) {
  if (row.nan + row.inf == 0) return "";
  return fmt::format("{} NaN and {} infinite of {} elements", row.nan, row.inf, element_count(row.shape));
}

bool unused(const StepEvidence& now, const std::string& parameter) {
  if (now.step < 0 || !now.cell.reference.manifest.traits.may_lack || !unchanged(now, parameter)) return false;
  return now.reference_rows.tensors("gradient", parameter).empty() &&
         now.candidate_rows.tensors("gradient", parameter).empty();
}

const char* const no_gradient_compared =
    "no gradient was compared: neither record holds one. If gradients are not in .grad, give "
    "gradient_of= "
    "(and master_of=) to watch_model, watch_stage or watch_pipelining";

bool without_gradients(const StepEvidence& now) {
  const CellEvidence& evidence = now.cell;
  if (!evidence.reference.manifest.traits.may_lack || !evidence.candidate.manifest.traits.may_lack) return false;
  if (evidence.model.parameters.size() <= evidence.reference.manifest.frozen.size()) return false;
  const auto none = [](const RecordIndex& rows) {
    return std::ranges::none_of(rows.all_tensors(), [](const auto& placed) { return placed.row->kind == "gradient"; });
  };
  return none(now.reference_rows) && none(now.candidate_rows);
}

std::vector<std::string> parameter_kinds(const StepEvidence& now) {
  if (now.cell.reference.manifest.dtype == mixed_precision) return {"parameter", "copy"};
  return {"parameter"};
}

std::vector<std::string> moment_kinds(const StepEvidence& now) {
  const Json& optimizer = now.cell.reference.manifest.json.at("optimizer");
  const std::string name = optimizer.value("name", "");
  if (name == "adamw") return {"moment1", "moment2"};
  if (name == "sgd")
    return optimizer.value("momentum", 0.0) != 0.0 ? std::vector<std::string>{"moment1"} : std::vector<std::string>{};
  std::vector<std::string> kinds;
  for (const std::string kind : {"moment1", "moment2"}) {
    if (std::ranges::any_of(now.reference_rows.all_tensors(),
                            [&](const auto& placed) { return placed.row->kind == kind; }))
      kinds.push_back(kind);
  }
  return kinds;
}

std::vector<std::string> state_kinds(const StepEvidence& now) {
  auto kinds = parameter_kinds(now);
  std::ranges::copy(moment_kinds(now), std::back_inserter(kinds));
  return kinds;
}

void compare_tensors(const StepEvidence& now, const std::string& kind, CheckResultBuilder& builder) {
  RowComparison comparison(now, kind, builder);
  for (std::size_t i = 0; i < now.cell.model.parameters.size(); ++i) {
    const auto& parameter = now.cell.model.parameters[i];
    const auto position = kind == "gradient" ? gradient_position(now.cell.model, now.cell.candidate.manifest, i)
                                             : static_cast<std::int64_t>(i);
    bool held = false;
    for (const auto& stage : now.cell.stages.stages) {
      if (std::ranges::find(stage.units, parameter.unit) == stage.units.end()) continue;
      held = true;
      comparison.run(parameter, position, stage);
    }
    if (!held) comparison.report_unheld(parameter, position);
  }
  report_rows_too_many(now, kind, comparison.seen(), builder);
  report_rows_of_no_parameter(now, kind, builder);
}

void report_moments_that_the_optimiser_lacks(const StepEvidence& now, const std::vector<std::string>& kinds,
                                             CheckResultBuilder& builder) {
  for (const auto* rows : {&now.reference_rows.all_tensors(), &now.candidate_rows.all_tensors()}) {
    for (const auto& placed : *rows) {
      const TensorRow& row = *placed.row;
      const bool state = row.kind == "copy" || row.kind.starts_with("moment");
      if (!state || std::ranges::find(kinds, row.kind) != kinds.end()) continue;
      builder.diverge(
          tensor_point(now.step, row.kind, position_of(now.cell, row.kind, row.name), row.stage),
          extra_row("", placed,
                    row.kind == "copy" ? "only mixed precision has copies" : "the optimiser has no such moment"));
    }
  }
}

}  // namespace plumbline::judging
