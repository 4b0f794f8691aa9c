// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/fault_signatures/step_facts.hpp"

#include <algorithm>

#include "record/record.hpp"

namespace plumbline {

bool StepFacts::is_tied(const std::string& parameter) const {
  return std::ranges::any_of(tied,
                             [&](const auto& group) { return std::ranges::find(group, parameter) != group.end(); });
}

StepFacts step_facts(const std::filesystem::path& reference, const std::filesystem::path& candidate,
                     std::int64_t step) {
  const Record alone = read_record(reference), piped = read_record(candidate);
  StepFacts facts;
  facts.step = step;
  facts.microbatches = alone.manifest.microbatches;
  facts.sums_microbatches_apart = alone.manifest.accumulation == "listed";
  facts.stages = std::ssize(piped.manifest.stages);
  facts.tied = piped.manifest.tied;
  for (const RankRecord& rank : alone.ranks) {
    for (const StepRow& row : rank.steps) {
      if (row.step == step) facts.valid_tokens = row.valid_tokens;
    }
  }
  for (const RankRecord& rank : piped.ranks) {
    for (const TensorRow& row : rank.tensors) facts.stage_of.emplace(row.name, row.stage);
  }
  return facts;
}

}  // namespace plumbline
