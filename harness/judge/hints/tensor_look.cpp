// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/tensor_look.hpp"

#include <algorithm>

#include "support/numbers.hpp"

namespace plumbline::judging {

std::string look_at_tensor(const StepEvidence& now, const TensorRow& theirs, const TensorRow& mine) {
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

}  // namespace plumbline::judging
