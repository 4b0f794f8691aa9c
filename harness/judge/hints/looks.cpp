// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/looks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/judge/hints/advice.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

/// Boundary gradients of losses that are scaled otherwise differ, even if the gradients of the parameters agree.
std::string scaling_hint(const StepEvidence& now, const BoundaryRow& row) {
  const Manifest &theirs = now.cell.reference.manifest, &mine = now.cell.candidate.manifest;
  if (row.direction == "forward" ||
      (theirs.loss_scaling == mine.loss_scaling && theirs.boundary_gradient_factor == mine.boundary_gradient_factor))
    return "";
  return "; by loss_scaling and boundary_gradient_factor the two scale them by other factors: record a reference that "
         "scales where the candidate does";
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
    return "; as of other signs or another order of its elements";
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
  const auto ratio = [](double got, double expected) {
    return expected == 0 ? to_text(got) + " against 0" : to_text(got / expected) + " times";
  };
  const std::string l2 = ratio(mine.l2, theirs.l2);
  const std::string most = ratio(static_cast<double>(mine.max_abs), static_cast<double>(theirs.max_abs));
  return fmt::format("l2 {} and max_abs {} the reference's", l2, most);
}

}  // namespace plumbline::judging
