// SPDX-License-Identifier: BSD-3-Clause
// memory: bytes other than model state, activations and transport buffers.
#include <gmock/gmock.h>

#include "harness/judge/expected/expected_model.hpp"
#include "record/rank_folder.hpp"
#include "support/json.hpp"
#include "tests/harness/judge/limits/dumped_run.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

using Column = std::optional<std::int64_t> MemoryRow::*;

/// As many bytes more of this owner, from the step's end on.
void keep(SyntheticRun& run, std::size_t rank, std::size_t step, Column column, std::int64_t bytes) {
  MemoryRow& row = run.ranks[rank].memory[step];
  *(row.*column) += bytes;
  *row.live_bytes += bytes;
  *row.peak_bytes += bytes;
}

TEST(OwnedBytes, AreLookedAtInEveryStepOfEveryRank) {
  SyntheticCell cell;
  const auto memory = expect_outcome(cell, "memory", Outcome::holds);
  for (const auto& [what, each] : {std::pair{"owned_sums", 1}, {"total_peaks", 1}, {"owned_cells", 4}}) {
    EXPECT_EQ(memory.compared.at(what), each * 2 * synthetic_steps) << what;
    EXPECT_EQ(memory.inspected.at(what), each * synthetic_steps) << what << ", the reference's own";
  }
}

TEST(OwnedBytes, TooManyOfAnyOwnerAreTold) {
  expect_each_red({"memory"}, {{"alive beside all owners, in every step: no leak",
                                [](auto& cell) {
                                  for (auto& row : cell.candidate.ranks[0].memory)
                                    *row.live_bytes += 4, *row.peak_bytes += 4;
                                },
                                {.item = "live_bytes", .words = "candidate: step"}},
                               {"alive beside all owners in the reference",
                                [](auto& cell) {
                                  for (auto& row : cell.reference.ranks[0].memory)
                                    *row.live_bytes += 4, *row.peak_bytes += 4;
                                },
                                {.item = "live_bytes", .words = "reference: step"}},
                               {"fewer alive than their owners hold",
                                [](auto& cell) {
                                  for (auto& row : cell.candidate.ranks[1].memory) *row.live_bytes -= 4;
                                },
                                {.item = "live_bytes"}},
                               {"tables of the reference, beyond cosine and sine of 4 positions, head size 2, float32",
                                [](auto& cell) {
                                  for (const std::size_t step : {0U, 1U})
                                    keep(cell.reference, 0, step, &MemoryRow::table_bytes, 1);
                                },
                                {.item = "table_bytes", .expected = "at most 64"}},
                               {"data that outlives its step",
                                [](auto& cell) { keep(cell.candidate, 1, 1, &MemoryRow::data_bytes, 24); },
                                {.step = 1, .item = "data_bytes"}},
                               {"kept from the first step on: no leak",
                                [](auto& cell) {
                                  for (const std::size_t step : {0U, 1U}) {
                                    keep(cell.candidate, 0, step, &MemoryRow::other_bytes, 64 << 20);
                                    *cell.candidate.ranks[0].memory[step].other_peak_bytes += 64 << 20;
                                  }
                                },
                                {.step = 0, .item = "other_bytes", .expected = "at most 4"}},
                               {"for a moment",
                                [](auto& cell) {
                                  *cell.candidate.ranks[1].memory[0].other_peak_bytes += 1 << 30;
                                  *cell.candidate.ranks[1].memory[0].peak_bytes += 1 << 30;
                                },
                                {.item = "other_peak_bytes"}},
                               {"a total peak beyond all owners in the reference",
                                [](auto& cell) { *cell.reference.ranks[0].memory[0].peak_bytes += 1 << 20; },
                                {.item = "peak_bytes", .words = "reference: step"}},
                               {"a total peak beyond all owners on the last rank",
                                [](auto& cell) { *cell.candidate.ranks[1].memory[1].peak_bytes += 1 << 20; },
                                {.step = 1, .rank = 1, .item = "peak_bytes", .words = "candidate: step"}}});
  expect_each_red({"memory"},
                  {{"a table on a stage that is empty",
                    [](auto& cell) {
                      for (const std::size_t step : {0U, 1U})
                        keep(cell.candidate, 1, step, &MemoryRow::table_bytes, 64);
                    },
                    {.rank = 1, .item = "table_bytes", .expected = "at most 0"}}},
                  with_empty_stage());
}

TEST(OwnedBytes, WhatBothTrainersKeepIsSeenInTheReference) {
  for (const auto column : {&MemoryRow::other_bytes, &MemoryRow::data_bytes}) {
    SyntheticCell cell;
    for (MemoryRow& row : cell.rows(&RankRecord::memory)) {
      for (const auto each : {column, &MemoryRow::other_peak_bytes, &MemoryRow::live_bytes, &MemoryRow::peak_bytes})
        *(row.*each) += 1000;
    }

    expect_red(cell, {"memory"}, {.words = "reference: step 0, rank 0"});
  }
}

TEST(OwnedBytes, AGpusWorkspacesAreTheReferencesOwn) {
  SyntheticCell right({.device = "cuda"}), wrong({.device = "cuda"});
  keep(wrong.candidate, 1, 0, &MemoryRow::other_bytes, 1);
  wrong.candidate.ranks[1].gpu_memory[0].requested_peak_bytes += 1;

  EXPECT_TRUE(right.judge().holds);
  expect_red(wrong, {"memory"}, {.item = "other_bytes"});
}

/// As a program wrote it that knew the first schema alone.
void make_first_schema(const std::filesystem::path& record) {
  Json manifest = read_json(record / "manifest.json");
  manifest["schema"] = "plumbline-record/1";
  manifest["data"]["digest"] = read_json(record / "rank-0" / "exit.json").at("data_digest");
  write_json(record / "manifest.json", manifest);
}

TEST(OwnedBytes, AnOlderRecordIsToldAndNotFailed) {
  for (const bool of_reference : {true, false}) {
    SyntheticCell cell;
    for (MemoryRow& row : (of_reference ? cell.reference : cell.candidate).rows(&RankRecord::memory))
      row.other_bytes.reset();

    const auto reference = cell.write_reference(), candidate = cell.write_candidate();
    const auto older = of_reference ? reference : candidate;
    make_first_schema(older);
    for (const auto& rank : (of_reference ? cell.reference : cell.candidate).ranks) {
      drop_column(older / rank_folder(rank.rank) / "memory.csv", "other_bytes");
    }
    const auto memory = result_of(judge_cell(cell.plan, reference, candidate), "memory");

    EXPECT_EQ(memory.outcome, Outcome::holds) << memory.reason;
    EXPECT_THAT(memory.reason, HasSubstr(std::string("not inspected: tables, data and other bytes of the ") +
                                         (of_reference ? "reference" : "candidate")));
    EXPECT_EQ(memory.compared.contains("owned_sums"), of_reference);
    EXPECT_EQ(memory.inspected.contains("owned_sums"), !of_reference);
  }
}

TEST(OwnedBytes, DataThatTheReferenceKeepsIsNoAllowance) {
  SyntheticCell cell;
  for (MemoryRow& row : cell.rows(&RankRecord::memory))
    *row.data_bytes += 8, *row.live_bytes += 8, *row.peak_bytes += 8;
  EXPECT_THAT(result_of(cell.judge(), "memory").reason, HasSubstr("ids and labels end with their microbatch"));
}

TEST(OwnedBytes, WithoutThemALeakIsStillSeen) {
  SyntheticCell cell;
  for (MemoryRow& row : cell.candidate.rows(&RankRecord::memory)) row.other_bytes.reset();
  *cell.candidate.ranks[1].memory[1].live_bytes += 4;
  const auto reference = cell.write_reference(), older = cell.write_candidate();
  make_first_schema(older);
  for (const char* rank : {"rank-0", "rank-1"}) drop_column(older / rank / "memory.csv", "other_bytes");

  EXPECT_THAT(result_of(judge_cell(cell.plan, reference, older), "memory").reason,
              HasSubstr("against the end of the first step"));
}

TEST(TotalPeak, IsAtLeastWhatTheRowSaysLivesAtOnce) {
  for (const std::int64_t less : {0, 1}) {
    SyntheticCell cell;
    MemoryRow& row = cell.candidate.ranks[0].memory[1];
    row.peak_bytes = *row.parameter_bytes + *row.gradient_bytes + *row.optimizer_bytes + *row.table_bytes +
                     *row.activation_peak_bytes - less;

    if (less == 0) {
      EXPECT_TRUE(cell.judge().holds);
    } else {
      expect_red(cell, {"memory"}, {.item = "peak_bytes"});
    }
  }
}

TEST(TotalPeak, IsToldBehindTheOwnerThatHasTooMuch) {
  SyntheticCell cell;
  MemoryRow& row = cell.candidate.ranks[1].memory[1];
  *row.table_bytes += 64 << 20;
  *row.live_bytes += 64 << 20;
  row.peak_bytes = row.live_bytes;  // less than with the activations' peak

  expect_red(cell, {"memory"}, {.item = "table_bytes"});
}

/// Both sum in the order of a list, of which the reference was told.
struct ListedCell : SyntheticCell {
  ListedCell() {
    for (SyntheticRun* run : {&reference, &candidate}) {
      run->manifest["schedule"]["accumulation"] = "listed";
      run->manifest["schedule"]["accumulation_digest"] = std::string(32, 'a');
    }
    for (auto& row : reference.ranks[0].memory) *row.peak_bytes += synthetic_microbatches * *row.gradient_bytes;
    plan.checks = {"memory"};  // the list of these runs is another, which conformance says
  }
};

TEST(TotalPeak, OfAListedOrderHasTheGradientsOfAllMicrobatchesInTheReferenceAlone) {
  ListedCell right;

  const auto memory = expect_outcome(right, "memory", Outcome::holds);
  for (const bool of_reference : {true, false}) {
    ListedCell cell;
    MemoryRow& row = (of_reference ? cell.reference : cell.candidate).ranks[0].memory[0];
    *row.peak_bytes += synthetic_microbatches * *row.gradient_bytes;

    expect_red(cell, {"memory"}, {.item = "peak_bytes", .words = "gradients that a listed order keeps"});
  }
}

TEST(TotalPeak, OfAListedOrderIsNoLessThanAllThatItKeeps) {
  ListedCell cell;
  MemoryRow& row = cell.reference.ranks[0].memory[1];
  row.peak_bytes = *row.parameter_bytes + *row.gradient_bytes * (1 + synthetic_microbatches) + *row.optimizer_bytes +
                   *row.table_bytes - 1;

  expect_red(cell, {"memory"}, {.item = "peak_bytes", .words = "of each microbatch"});
}

/// The largest that the row's total peak may be in step 1 of the first rank, less the row's own columns.
std::int64_t allowed_beside_the_columns(const CellVerdict& verdict, const MemoryRow& row) {
  const auto found = result_of(verdict, "memory").first_divergence.value();
  expect_finding(found, {.step = 1, .rank = 0, .item = "peak_bytes"});
  const std::string at_most = "at most ";
  EXPECT_TRUE(found.expected.starts_with(at_most)) << found.expected;
  return std::stoll(found.expected.substr(at_most.size())) -
         (*row.parameter_bytes + *row.gradient_bytes + *row.optimizer_bytes + *row.table_bytes +
          *row.activation_peak_bytes + *row.other_peak_bytes);
}
std::int64_t allowed_beside_the_columns(SyntheticCell& cell, bool of_candidate) {
  MemoryRow& row = (of_candidate ? cell.candidate : cell.reference).ranks[0].memory[1];
  *row.peak_bytes += 1 << 20;
  return allowed_beside_the_columns(cell.judge(), row);
}

/// Ids and labels of 13 positions are held twice, beside five losses; of the largest parameter, 8 x 4, there may be a
/// copy.
constexpr std::int64_t data_and_one_copy = 13 * 2 * 2 * 8 + 5 * 4 + 8 * 4 * 4;

TEST(TotalPeak, MayHaveTheStepsDataOneCopyAndTheBuffers) {
  SyntheticCell of_reference, of_candidate;
  EXPECT_EQ(allowed_beside_the_columns(of_reference, false), data_and_one_copy) << "one device has no buffers";
  EXPECT_EQ(allowed_beside_the_columns(of_candidate, true), data_and_one_copy + 48);
}

TEST(TotalPeak, OfThreadsMayHaveTheBuffersTwice) {
  SyntheticCell cell({.transport = "threads"});
  EXPECT_EQ(allowed_beside_the_columns(cell, true), data_and_one_copy + 2 * 48);
}

TEST(TotalPeak, OfARunThatDumpsMayHaveWhatItDumps) {
  for (const bool tied : {false, true}) {
    const SyntheticPlan plan{.tied = tied, .level = "dump"};
    TemporaryFolder folder;
    DumpedRun reference{synthetic_reference(plan)}, candidate{synthetic_candidate(plan)};
    MemoryRow& row = candidate.run.ranks[0].memory[1];
    *row.peak_bytes += 1 << 20;

    const auto verdict = judge_cell({}, reference.write(folder / "reference"), candidate.write(folder / "candidate"));

    std::int64_t dumped = 0;
    for (const auto& tensor : candidate.run.ranks[0].tensors) {
      if (tensor.step == 1) dumped += 4 * element_count(tensor.shape);
    }
    for (const auto& boundary : candidate.run.ranks[0].boundaries) dumped += boundary.step == 1 ? boundary.bytes : 0;
    const std::int64_t gradients_of_both_uses = tied ? 2 * 8 * 4 * 4 : 0;
    EXPECT_EQ(allowed_beside_the_columns(verdict, row), data_and_one_copy + 48 + dumped + gradients_of_both_uses);
  }
}

TEST(OwnedBytes, OfOneDeviceAreWhatItsOwnArithmeticNeeds) {
  struct Case {
    Column column;
    std::string item, expected;
  };
  const std::vector<Case> cases = {
      {&MemoryRow::other_bytes, "other_bytes", "at most 4"},
      // 32 elements of the largest parameter, 21 norms and a copy of each, in float64
      {&MemoryRow::other_peak_bytes, "other_peak_bytes", "at most " + std::to_string(4 + 8 * (32 + 2 * 21))},
  };
  for (const auto& each : cases) {
    SyntheticCell cell;
    MemoryRow& row = cell.reference.ranks[0].memory[1];
    *(row.*each.column) += 1 << 20;
    if (each.column == &MemoryRow::other_bytes) *row.live_bytes += 1 << 20, *row.other_peak_bytes += 1 << 10;
    *row.peak_bytes += 1 << 20;

    expect_fails(cell, "memory", {.step = 1, .item = each.item, .expected = each.expected, .words = "reference: step"});
  }
}

// Tables are made for the longest row of the first step and kept, however short the rows of a later one are.
TEST(OwnedBytes, TablesOfTheFirstStepsLongestRowOutliveIt) {
  SyntheticCell cell;
  for (MicrobatchRow& row : cell.rows(&RankRecord::microbatches)) {
    if (row.step == 1 && row.microbatch == 2) row.sequence_length = 2, row.batch = 2;
  }

  EXPECT_THAT(result_of(cell.judge(), "memory").reason, ::testing::Not(HasSubstr("table_bytes")));
}

TEST(TotalPeak, IsAtMostWhatIsAllowedAndNotAByteMore) {
  for (const std::int64_t more : {0, 1}) {
    SyntheticCell cell;
    MemoryRow& row = cell.candidate.ranks[0].memory[1];
    row.peak_bytes = *row.parameter_bytes + *row.gradient_bytes + *row.optimizer_bytes + *row.table_bytes +
                     *row.activation_peak_bytes + *row.other_peak_bytes + data_and_one_copy + 48 + more;

    EXPECT_EQ(result_of(cell.judge(), "memory").outcome, more == 0 ? Outcome::holds : Outcome::differs);
  }
}

// What may be copied is a parameter or what crosses a cut, whichever is the larger.
TEST(TotalPeak, MayHaveOneCopyOfALargeMicrobatchesActivation) {
  SyntheticCell cell;
  for (MicrobatchRow& row : cell.rows(&RankRecord::microbatches))
    row.batch = row.step == 1 && row.microbatch == 2 ? 4 : 1;
  constexpr std::int64_t positions = 13 + 3 * 4;

  EXPECT_EQ(allowed_beside_the_columns(cell, true), positions * 2 * 2 * 8 + 5 * 4 + 4 * 4 * 4 * 4 + 48);
}

}  // namespace
}  // namespace plumbline::testing
