// SPDX-License-Identifier: BSD-3-Clause
// Two small, equal records, generated in code. Tests change one thing in them and check which check fails. Nothing is
// computed: digests are hashes of names, so that every row states its meaning.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/judge.hpp"
#include "record/record.hpp"
#include "tests/record_changes.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

/// The names of the tied weight.
inline constexpr const char* embedding_weight = "model.embed_tokens.weight";
inline constexpr const char* head_weight = "lm_head.weight";

struct SyntheticRun {
  Json manifest;
  std::string schedule_csv;
  std::vector<RankRecord> ranks;

  /// All ranks' rows of a table.
  template <class Row>
  std::vector<std::reference_wrapper<Row>> rows(std::vector<Row> RankRecord::*table) {
    std::vector<std::reference_wrapper<Row>> all;
    for (RankRecord& rank : ranks) all.insert(all.end(), (rank.*table).begin(), (rank.*table).end());
    return all;
  }
  template <class Row, class Fits>
  void erase(std::vector<Row> RankRecord::*table, Fits fits) {
    for (RankRecord& rank : ranks) std::erase_if(rank.*table, fits);
  }
};

/// The model of all these runs: vocabulary 8, hidden 4, intermediate 6, 2 layers, 2 heads, 1 kv head. Five microbatches
/// of lengths 3 1 4 3 2, the last fully masked; two steps, the first clipped.
struct SyntheticPlan {
  std::vector<std::vector<std::string>> stages = {{"embed_tokens", "layers.0"}, {"layers.1", "norm", "lm_head"}};
  std::string schedule = "1f1b";
  std::string optimizer = "adamw";
  bool tied = true;
  std::string level = "full";
  std::string device = "cpu";     ///< cuda: one GPU per rank, with gpu_memory.csv; attention is then math
  std::string transport = "mpi";  ///< threads: all ranks in one process
};
inline constexpr std::int64_t synthetic_steps = 2;
inline constexpr std::int64_t synthetic_microbatches = 5;

SyntheticRun synthetic_reference(const SyntheticPlan& plan);
SyntheticRun synthetic_candidate(const SyntheticPlan& plan);
void write_run(const SyntheticRun& run, const std::filesystem::path& folder);

/// A single stage; four stages, the second empty.
SyntheticPlan one_stage();
SyntheticPlan with_empty_stage();

/// Both runs and their plan.
class SyntheticCell {
 public:
  explicit SyntheticCell(const SyntheticPlan& plan = {});
  CellVerdict judge();
  std::filesystem::path write_reference();
  std::filesystem::path write_candidate();
  /// The ranks of both records, in order.
  std::vector<std::reference_wrapper<RankRecord>> all_ranks();
  template <class Row>
  std::vector<std::reference_wrapper<Row>> rows(std::vector<Row> RankRecord::*table) {
    auto all = reference.rows(table), of_candidate = candidate.rows(table);
    all.insert(all.end(), of_candidate.begin(), of_candidate.end());
    return all;
  }

  SyntheticRun reference, candidate;
  std::optional<SyntheticRun> repeated;
  CellPlan plan;
  TemporaryFolder folder;
};

const CheckResult& result_of(const CellVerdict& verdict, std::string_view check);
/// For temporary verdicts.
CheckResult result_of(CellVerdict&& verdict, std::string_view check);
/// Names of the checks with this outcome, in order, except `audit`. It inspects each record by itself, so it finds much
/// of what the others find by comparison (tests/approved/verdicts/gradients.txt tests it).
std::vector<std::string> with_outcome(const CellVerdict& verdict, Outcome outcome);

/// Reduces the run to one step.
void keep_first_step(SyntheticRun& run);

/// Makes it a run in which no step changed the parameters.
void keep_start(SyntheticRun& run);

/// Reduces the run to the record of a run resumed after its first step.
void begin_with_second_step(SyntheticRun& run);

/// Updates exit.json's digests after changes to rows of microbatches.
void digest_data_again(SyntheticRun& run);

/// The matching rows of a rank; fails the test if there are none.
TensorRow& tensor_row(SyntheticRun& run, std::int64_t step, std::string_view kind, std::string_view name);
BoundaryRow& boundary_row(SyntheticRun& run, std::int64_t step, std::int64_t microbatch, std::string_view direction,
                          std::string_view cut, std::string_view side);
ActionRow& action_row(SyntheticRun& run, std::int64_t step, std::string_view action);

}  // namespace plumbline::testing
