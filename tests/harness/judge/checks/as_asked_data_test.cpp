// SPDX-License-Identifier: BSD-3-Clause
// as_asked: ids and labels, read again from the requested files.
#include <gmock/gmock.h>

#include "harness/judge/request/token_source.hpp"
#include "tests/harness/judge/checks/asked_cell.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

/// Trained on a file of eight ids, and evaluated on another after each step; both records say what these hold.
struct DataCell : AskedCell {
  DataCell() {
    const auto trained = folder.file("trained.bin", std::string("\0\1\2\3\4\5\6\7", 8));
    const auto evaluated = folder.file("evaluated.bin", std::string("\7\6\5\4", 4));
    for (auto* request : {&*plan.request, &*plan.reference_request}) {
      request->data = RequestedData{.files = {trained}, .sizes = {8}, .format = "bytes"};
      request->evaluation.emplace(RequestedEvaluation{.every = 1,
                                                      .microbatches = {{{3}, false}, {{2}, false}},
                                                      .data = {.files = {evaluated}, .sizes = {4}, .format = "bytes"}});
    }
    for (auto* run : {&reference, &candidate}) follow_the_request(*run);
  }

  void follow_the_request(SyntheticRun& run) const {
    const RequestedEvaluation& evaluation = **plan.request->evaluation;
    judging::TokenSource source(*plan.request->data, *plan.request->microbatches);
    judging::TokenSource evaluated(evaluation.data, evaluation.microbatches);
    for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
      if (!row.data_digest.empty()) row.data_digest = source.data_digest(row.step, row.microbatch);
      row.valid_tokens =
          plan.request->microbatches->at(static_cast<std::size_t>(row.microbatch)).masked ? 0 : row.tokens;
    }
    digest_data_again(run);
    run.manifest["evaluation"] = {{"every", 1}, {"microbatches", 2}};
    for (std::int64_t step = 0; step < synthetic_steps; ++step) {
      run.ranks.back().evaluation.push_back({step, 0, 3, 3, 1.5F, evaluated.data_digest(0, 0)});
      run.ranks.back().evaluation.push_back({step, 1, 2, 2, 0.25F, evaluated.data_digest(0, 1)});
      run.ranks.back().evaluation.push_back({step, std::nullopt, 5, 5, 1.75F, ""});
    }
  }
};

// Step i of such a record is step 2 i of the run that was asked for.
TEST(AsAskedData, OfEverySecondStepTheRunsOwnStepsAreReadAgain) {
  for (const bool right : {true, false}) {
    DataCell cell;
    cell.candidate.manifest["role"] = "external";
    cell.candidate.manifest["every"] = 2;
    cell.plan.request->role = "external";
    cell.plan.request->steps = 2 * synthetic_steps - 1;
    judging::TokenSource source(*cell.plan.request->data, *cell.plan.request->microbatches);
    for (MicrobatchRow& row : cell.candidate.rows(&RankRecord::microbatches)) {
      if (!row.data_digest.empty()) row.data_digest = source.data_digest((right ? 2 : 1) * row.step, row.microbatch);
    }
    digest_data_again(cell.candidate);

    expect_outcome(cell, "as_asked", right ? Outcome::holds : Outcome::differs);
  }
}

TEST(AsAskedData, HoldsAndCountsWhatItReadAgain) {
  DataCell cell;

  // The candidate's: first and last rank see each microbatch's, and the last evaluates on two after each step.
  EXPECT_EQ(expect_outcome(cell, "as_asked", Outcome::holds).compared.at("data_digests"),
            2 * synthetic_steps * synthetic_microbatches + 2 * synthetic_steps);
}

TEST(AsAskedData, OneMicrobatchThatBothRunsFedOtherwiseIsRedThere) {
  DataCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (MicrobatchRow& row : run->rows(&RankRecord::microbatches)) {
      if (row.step == 1 && row.microbatch == 2 && !row.data_digest.empty()) row.data_digest = other_digest;
    }
    digest_data_again(*run);
  }

  expect_fails(cell, "as_asked",
               {.step = 1, .item = "ids and labels of microbatch 2", .got = other_digest, .words = "the reference"});
}

TEST(AsAskedData, AnEvaluationOnOtherDataIsRedThere) {
  DataCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) run->ranks.back().evaluation.at(4).data_digest = other_digest;

  expect_fails(cell, "as_asked", {.step = 1, .item = "ids and labels of microbatch 1 of an evaluation"});
}

TEST(AsAskedData, EvaluationsAreAsOftenAndOnAsManyMicrobatchesAsAskedFor) {
  DataCell often;
  (*often.plan.request->evaluation)->every = 2;
  expect_fails(often, "as_asked", {.item = "evaluation.every"});

  DataCell more;
  (*more.plan.request->evaluation)->microbatches.push_back({{1}, false});
  expect_fails(more, "as_asked", {.item = "evaluation.microbatches"});
}

TEST(AsAskedData, OfOurOwnDataEveryUnmaskedPositionHasALabel) {
  DataCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (MicrobatchRow& row : run->rows(&RankRecord::microbatches)) row.valid_tokens -= row.microbatch == 3 ? 1 : 0;
    digest_data_again(*run);
  }

  expect_fails(cell, "as_asked", {.item = "valid_tokens of microbatch 3"});
}

TEST(AsAskedData, AnIgnoredTokenIsNoLabel) {
  DataCell cell;
  const std::filesystem::path none = cell.folder.file("ignore.bin", std::string(8, '\0'));
  const std::filesystem::path all = cell.folder.file("ignore_all.bin", std::string(8, '\1'));
  const auto ignore = [&](const std::filesystem::path& file) {
    for (auto* request : {&*cell.plan.request, &*cell.plan.reference_request}) {
      request->data->ignore = {file};
      request->data->ignore_sizes = {8};
    }
  };
  ignore(none);
  expect_outcome(cell, "as_asked", Outcome::holds);
  ignore(all);
  expect_fails(cell, "as_asked", {.item = "valid_tokens of microbatch 0"});
}

TEST(AsAskedData, AFileThatIsNotWhatItWasIsSaidAndTheRestIsHeld) {
  DataCell cell;
  for (auto* request : {&*cell.plan.request, &*cell.plan.reference_request}) request->data->sizes = {9};

  const auto result = expect_outcome(cell, "as_asked", Outcome::holds);
  EXPECT_THAT(result.reason, HasSubstr("ids and labels: "));
  EXPECT_THAT(result.reason, HasSubstr("trained.bin"));
  EXPECT_EQ(result.compared.at("data_digests"), 2 * synthetic_steps);  // of the evaluations
}

// What was asked of one record is looked at to its end, however early the other one cannot be read.
TEST(AsAskedData, OfARecordBesideOneThatCannotBeReadTheLaterStepsAreReadAgainToo) {
  for (const bool of_candidate : {true, false}) {
    DataCell cell;
    SyntheticRun &run = of_candidate ? cell.candidate : cell.reference,
                 &broken = of_candidate ? cell.reference : cell.candidate;
    broken.ranks.back().steps.front().valid_tokens = 1'000'000;  // refused when the first step is read
    for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
      if (row.step == 1 && row.microbatch == 2 && !row.data_digest.empty()) row.data_digest = other_digest;
    }
    digest_data_again(run);

    expect_fails(cell, "as_asked", {.step = 1, .got = other_digest});
  }
}

}  // namespace
}  // namespace plumbline::testing
