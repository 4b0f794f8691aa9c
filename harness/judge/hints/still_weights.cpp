// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/still_weights.hpp"

#include <fmt/format.h>

namespace plumbline::judging {
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

}  // namespace plumbline::judging
