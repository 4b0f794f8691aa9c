// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_not_comparable(SyntheticCell& cell, const std::string& words) {
  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("data"));
  EXPECT_THAT(result_of(verdict, "data").reason, HasSubstr("the records cannot be compared"));
  EXPECT_THAT(result_of(verdict, "data").reason, HasSubstr(words));
  EXPECT_EQ(result_of(verdict, "parameters").outcome, Outcome::incomplete);
}

TEST(Data, AnotherSplitSuggestsListsOfMicrobatches) {
  for (const bool external : {true, false}) {
    for (const bool sizes : {true, false}) {
      SyntheticCell cell;
      if (external) cell.candidate.manifest["role"] = "external";
      MicrobatchRow& row = cell.candidate.ranks[1].microbatches.at(2);
      if (sizes)
        std::swap(row.batch, row.sequence_length);
      else
        row.data_digest = other_digest;

      EXPECT_EQ(expect_fails(cell, "data", {.step = 0}).words.find("give record.step lists of microbatches") !=
                    std::string::npos,
                external);
    }
  }
}

TEST(Data, TheDigestOfTheWholeRunIsRecomputedOnEveryRank) {
  for (const std::size_t rank : {0, 1}) {
    SyntheticCell cell;
    cell.candidate.ranks[rank].exit->data_digest = other_digest;

    expect_red(cell, {"data"}, {.step = 0, .rank = static_cast<std::int64_t>(rank), .item = "data_digest"});
  }
  SyntheticCell cell;
  cell.reference.ranks[0].exit->data_digest.reset();
  expect_red(cell, {"data"},
             {.step = 0, .item = "data_digest", .got = "null", .words = "reference, rank 0: data_digest in exit.json"});
}

TEST(Data, ARankThatHoldsTheEmbeddingOrTheHeadSeesEveryMicrobatch) {
  for (const std::size_t rank : {0, 1}) {
    SyntheticCell cell;
    for (auto& row : cell.candidate.ranks[rank].microbatches) row.data_digest.clear();
    cell.candidate.ranks[rank].exit->data_digest.reset();

    expect_red(cell, {"data"}, {.step = 0, .rank = static_cast<std::int64_t>(rank), .item = "data_digest"});
  }
}

// Which keys must agree is held in comparability_test.cpp; here, what follows for the checks.
TEST(Comparability, IncomparableRecordsFailDataAndSkipTheRest) {
  struct Case {
    void (*change)(SyntheticCell&);
    const char* words;
  };
  for (const auto& [change, words] :
       {Case{[](SyntheticCell& cell) { cell.candidate.manifest["seed"] = 2; },
             "seed is 1 in the reference and 2 in the candidate"},
        Case{[](SyntheticCell& cell) { cell.reference.manifest["model"].erase("num_hidden_layers"); },
             "num_hidden_layers"},
        Case{[](SyntheticCell& cell) { cell.candidate.manifest["run_id"] = cell.reference.manifest["run_id"]; },
             "give two different runs"}}) {
    SyntheticCell cell;
    change(cell);
    expect_not_comparable(cell, words);
  }
}

TEST(Comparability, ACopyUnderAnotherRunIdIsFoundByItsTimes) {
  SyntheticCell cell(one_stage());
  cell.candidate = cell.reference;
  cell.candidate.manifest["run_id"] = new_run_id();
  expect_not_comparable(cell, "one is a copy");
}

// A rank in the middle need not be told any digest; one that is told some has to be told all of them.
TEST(Data, ARankInTheMiddleThatWasFedSomeOfTheMicrobatches) {
  SyntheticCell cell(with_empty_stage());
  cell.candidate.ranks[2].microbatches[3].data_digest = cell.candidate.ranks[0].microbatches[3].data_digest;
  digest_data_again(cell.candidate);

  const auto found =
      expect_red(cell, {"data"}, {.step = 0, .rank = 2, .item = "data_digest", .expected = "10 digests", .got = "1"});
  EXPECT_THAT(found.words, ::testing::Not(HasSubstr("embed_tokens")));
}

TEST(Data, AMissingDigestIsReportedInItsFirstMicrobatch) {
  for (const std::string whose : {"candidate", "reference"}) {
    SyntheticCell cell;
    SyntheticRun& run = whose == "candidate" ? cell.candidate : cell.reference;
    for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) row.data_digest.clear();
    digest_data_again(run);

    expect_fails(cell, "data", {.microbatch = 0, .expected = "a digest", .got = "none", .words = "of the " + whose});
  }
}

// Another program need not know which of the embedding's rows a step touches.
TEST(Data, LiveTokensOfExternalTrainersAreOptional) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell;
    SyntheticRun& run = of_candidate ? cell.candidate : cell.reference;
    run.manifest["role"] = "external";
    for (StepRow& row : run.rows(&RankRecord::steps)) row.live_tokens.reset();

    expect_outcome(cell, "data", Outcome::holds);
  }
}

TEST(Data, LiveTokensAreDistinctIdsOfTheVocabulary) {
  for (const std::int64_t live : {0, 9}) {
    SyntheticCell cell;
    for (RankRecord& rank : cell.all_ranks()) rank.steps[1].live_tokens = live;
    const auto data = expect_outcome(cell, "data", Outcome::differs);
    EXPECT_THAT(data.reason, HasSubstr("(expected 1 to 8, got " + std::to_string(live)));
  }
}

}  // namespace
}  // namespace plumbline::testing
