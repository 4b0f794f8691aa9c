// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/hints/still_weights.hpp"

#include <fmt/format.h>

namespace plumbline::judging {
namespace {

struct StageMoves {
  bool mine = false, theirs = false;
};

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
        moved.mine = moved.mine || mine.row->digest != before.digest;
        moved.theirs = moved.theirs || theirs.front().row->digest != theirs_before.front().row->digest;
      }
    }
  }
  std::map<std::int64_t, std::string> words;
  for (const auto& [stage, moved] : stages) {
    if (moved.mine == moved.theirs) continue;
    const std::string before = now.step > now.cell.first_step() ? step_words(now.step - 1) : step_words(-1);
    words[stage] = fmt::format("{}stage {}'s weights did not change in {} (they have the bits of {})",
                               moved.mine ? "the reference's: " : "", stage, step_words(now.step), before);
  }
  return words;
}

}  // namespace plumbline::judging
