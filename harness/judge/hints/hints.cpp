// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

const char* words_of(Advice of) {
  switch (of) {
    case Advice::names:
      return "if only the names differ, give the whole model's names with names= (and units=) of watch_model, "
             "watch_stage or "
             "watch_pipelining";
    case Advice::units:
      return "the recorder uses the order in which modules are registered; if they run in another order, list them "
             "with units= of watch_model, watch_stage or watch_pipelining";
    case Advice::tied:
      return "a rank sees only its own; list all in both records with tied= of plumbline.Record, by the whole model's "
             "names";
    case Advice::batch:
      return "record.step splits a batch along its first dimension; if the trainer splits it differently ([length, "
             "rows]), give record.step lists of microbatches";
    case Advice::crossing:
      return "if the pipeline sends other tensors here than the recorder took on one device, select those with "
             "watch_model(..., crossing=)";
    case Advice::other_norm:
      return "only the 2-norm is judged; if the trainer clips by another norm, use Record(clip_norm=None), and call "
             "record.gradients() before clipping but not record.norm()";
    case Advice::own_norm:
      return "if the trainer has its own clipping code, give clip_norm= to Record, and call record.gradients() and "
             "then record.norm(total_norm) before clipping";
    case Advice::one_leaf:
      return "if the reference has one tensor, it adds both uses in one leaf, while the candidate sums two copies; use "
             "two copies on one device (docs/judge-your-trainer.md, \"If your trainer differs\")";
    case Advice::order:
      return "if the pipeline sums its microbatches in another order, let the one device do so, too, and give both "
             "records accumulation=";
  }
  return "";
}

}  // namespace

std::string advice(const Manifest& manifest, Advice of) {
  return manifest.conventions.python_recorder ? std::string("; ") + words_of(of) : "";
}

namespace {

/// Boundary gradients of losses that are scaled otherwise differ, even if the gradients of the parameters agree.
std::string scaling_hint(const StepEvidence& now, const BoundaryRow& row) {
  const Manifest &theirs = now.cell.reference.manifest, &mine = now.cell.candidate.manifest;
  if (row.direction == "forward" ||
      (theirs.loss_scaling == mine.loss_scaling && theirs.boundary_gradient_factor == mine.boundary_gradient_factor))
    return "";
  return "; according to loss_scaling and boundary_gradient_factor the two scale them differently: record a reference "
         "that scales where the candidate does";
}

}  // namespace

std::string look_at(const StepEvidence& now, const TensorRow& theirs, const TensorRow& mine) {
  if (mine.nonzero == 0 || theirs.nonzero == 0)
    return mine.nonzero > 0     ? "; the reference's is all zeros"
           : theirs.nonzero > 0 ? "; the candidate's is all zeros"
                                : "";
  const auto has_its_bits = [&](const auto& placed) {
    return placed.row->kind == mine.kind && placed.row->digest == mine.digest;
  };
  if (std::ranges::any_of(now.reference_rows_before.tensors(mine.kind, mine.name), has_its_bits))
    return "; it has the reference's bits of " +
           step_words(now.step > now.cell.first_step() ? now.step - 1 : std::int64_t{-1});
  const auto& all = now.reference_rows.all_tensors();
  const auto other = std::ranges::find_if(all, has_its_bits);
  if (other != all.end()) return "; it has the bits of the reference's " + other->row->name;
  if (same_bits(mine.l2, theirs.l2) && same_bits(mine.max_abs, theirs.max_abs) && mine.nonzero == theirs.nonzero)
    return "; as if signs or the order of its elements differed";
  return "";
}

std::string look_at(const StepEvidence& now, const BoundaryRow& mine) {
  for (const auto& [rows, step] :
       {std::pair(&now.reference_rows, mine.step), std::pair(&now.reference_rows_before, mine.step - 1)}) {
    for (std::int64_t m = 0; step >= 0 && m < now.cell.microbatches(); ++m) {
      const auto* other = rows->boundary(m, mine.direction, mine.cut);
      if (other && other->digest == mine.digest)
        return ": it is the tensor of " + step_words(step, m) + scaling_hint(now, mine);
    }
  }
  return scaling_hint(now, mine);
}

std::string look_at_shape(const StepEvidence& now, const BoundaryRow& theirs, const BoundaryRow& mine) {
  return theirs.side == "computed" && mine.side != "computed" ? advice(now.cell.reference.manifest, Advice::crossing)
                                                              : "";
}

std::string size_of_difference(const TensorRow& theirs, const TensorRow& mine) {
  const auto sizes = [](const char* what, double got, double expected) {
    return fmt::format("{} {:.4g}, expected {:.4g} ({})", what, got, expected, relative_size(got, expected));
  };
  return sizes("l2", mine.l2, theirs.l2) + "; " +
         sizes("max_abs", static_cast<double>(mine.max_abs), static_cast<double>(theirs.max_abs));
}

std::string relative_size(double got, double expected) {
  if (got == expected) return "equal";
  const double ratio = got / expected;
  if (!std::isfinite(ratio)) return "not comparable";
  return ratio > 0.5 && ratio < 1.9 ? fmt::format("{:+.2g} %", 100 * (ratio - 1)) : fmt::format("{:.4g} times", ratio);
}

namespace {

struct StageMoves {
  std::int64_t rank = 0;
  bool mine = false, theirs = false;
};

/// "; rank 0's optimizer did not step in step 1", by the record itself.
std::string no_step_words(const StepEvidence& now, std::int64_t rank) {
  for (const auto& placed : now.candidate_rows.steps()) {
    if (placed.rank == rank && placed.row->updated == false)
      return fmt::format("; rank {}'s optimizer did not step in {}", rank, step_words(now.step));
  }
  return "";
}

}  // namespace

std::map<std::int64_t, std::string> still_weights(const StepEvidence& now) {
  std::map<std::int64_t, StageMoves> stages;
  for (const RankRecord& rank : now.candidate_before) {
    for (const TensorRow& before : rank.tensors) {
      if (before.kind != "parameter") continue;
      const auto& theirs = now.reference_rows.tensors("parameter", before.name);
      const auto& theirs_before = now.reference_rows_before.tensors("parameter", before.name);
      if (theirs.empty() || theirs_before.empty()) continue;
      for (const auto& mine : now.candidate_rows.tensors("parameter", before.name)) {
        if (mine.rank != rank.rank || mine.row->stage != before.stage) continue;
        StageMoves& moved = stages[before.stage];
        moved.rank = rank.rank;
        moved.mine = moved.mine || mine.row->digest != before.digest;
        moved.theirs = moved.theirs || theirs.front().row->digest != theirs_before.front().row->digest;
      }
    }
  }
  std::map<std::int64_t, std::string> words;
  for (const auto& [stage, moved] : stages) {
    if (moved.mine == moved.theirs) continue;
    const std::string before = now.step > now.cell.first_step() ? step_words(now.step - 1) : step_words(-1);
    words[stage] = fmt::format("{}stage {}'s weights did not change in {} (they have the bits of {}){}",
                               moved.mine ? "the reference's: " : "", stage, step_words(now.step), before,
                               moved.mine ? "" : no_step_words(now, moved.rank));
  }
  return words;
}

namespace {

/// Another order of summing changes l2 by roundings of single elements only.
double rounding_of_size(const std::string& dtype) {
  return dtype == "bfloat16" || dtype == "float16" ? 0x1p-8 : 1e-5;
}

std::string words_of_weight(const StepEvidence& now, const std::vector<std::string>& names) {
  std::set<std::string> digests;
  std::set<std::int64_t> stages;
  bool differ = false, same_size = true;
  for (const auto& name : names) {
    const auto& rows = now.reference_rows.tensors("gradient", name);
    for (const auto& placed : now.candidate_rows.tensors("gradient", name)) {
      const TensorRow& mine = *placed.row;
      digests.insert(mine.digest);
      stages.insert(mine.stage);
      if (rows.empty() || rows.front().row->digest == mine.digest) continue;
      differ = true;
      same_size = same_size && near(mine.l2, rows.front().row->l2, rounding_of_size(mine.dtype));
    }
  }
  if (!differ || stages.size() < 2) return "";
  const std::string weight = join(names, "/");
  if (digests.size() > 1)
    return fmt::format("the stages have different gradients of the tied weight {}: sum them over its copies", weight);
  const std::string words = advice(now.cell.reference.manifest, Advice::one_leaf);
  return same_size && !words.empty() ? fmt::format("tied weight {}, of the same size{}", weight, words) : "";
}

}  // namespace

std::map<std::string, std::string> tied_gradient_words(const StepEvidence& now) {
  std::map<std::string, std::string> words;
  for (const auto& names : now.cell.candidate.manifest.tied) {
    const std::string of_weight = words_of_weight(now, names);
    for (const auto& name : names) {
      if (!of_weight.empty()) words[name] = of_weight;
    }
  }
  return words;
}

void Hints::note(const StepEvidence& now) {
  if (now.step < 0) return;
  if (!factor_) {
    if (auto factor = gradient_factor(now)) factor_ = {now.step, std::move(*factor)};
  }
  if (!tied_) {
    if (auto words = tied_gradient_words(now); !words.empty()) tied_ = {now.step, std::move(words)};
  }
  if (!loss_) {
    if (auto words = loss_factor_words(now)) loss_ = {now.step, std::move(*words)};
  }
  if (!still_) {
    if (auto words = still_weights(now); !words.empty()) still_ = {now.step, std::move(words)};
  }
}

std::string Hints::of(const CheckResult& result) const {
  if (!result.first_divergence) return "";
  const Finding& divergence = *result.first_divergence;
  if (result.name == "gradients") return of_gradient(divergence);
  if (result.name == "loss") return of_loss(divergence);
  if (result.name == "boundaries" && divergence.direction == "backward" && factor_ && factor_->words.ratio != 0 &&
      factor_->step == divergence.step)
    return factor_->words.words;
  if (result.name == "parameters" && divergence.step < 0 && !divergence.size.empty())
    return "the two begin with other weights: draw the whole model's once, or load one file, and give each stage its "
           "part";
  if (result.name != "parameters" || !still_ || still_->step != divergence.step) return "";
  if (divergence.item == "updated") return still_->words.begin()->second;
  const auto found = still_->words.find(divergence.stage.value_or(-1));
  return found == still_->words.end() ? "" : found->second;
}

std::string Hints::of_gradient(const Finding& divergence) const {
  if (factor_ && factor_->step == divergence.step && factor_->words.ratio != 0) return factor_->words.words;
  if (tied_ && tied_->step == divergence.step) {
    const auto found = tied_->words.find(divergence.item);
    if (found != tied_->words.end()) return found->second;
  }
  return factor_ && factor_->step == divergence.step ? factor_->words.words : "";
}

std::string Hints::of_loss(const Finding& divergence) const {
  if (!loss_ || loss_->step != divergence.step) return "";
  if (factor_ && factor_->step == divergence.step && factor_->words.ratio != 0)
    return "check the gradients first: " + factor_->words.words;
  return loss_->words;
}

}  // namespace plumbline::judging
