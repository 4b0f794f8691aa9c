// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kinds_of_step = {"parameter", "gradient", "moment1", "moment2"};

TEST(TiedWeights, ThatDifferInBothRecordsAlike) {
  for (const auto& kind : kinds_of_step) {
    SyntheticCell cell;
    for (auto* run : {&cell.reference, &cell.candidate}) tensor_row(*run, 1, kind, head_weight).digest = other_digest;

    const auto found =
        expect_red(cell, {"tied_weights"},
                   {.step = 1, .stage = 1, .rank = 1, .item = head_weight, .what = kind + " " + head_weight});
    EXPECT_THAT(found.words, HasSubstr("the copies of the tied weight differ: model.embed_tokens.weight on stage 0, "
                                       "rank 0 has other bits"));
  }
}

TEST(TiedWeights, OfAResumedRunIncludeItsFirstMoments) {
  for (const bool differ : {false, true}) {
    SyntheticCell cell;
    begin_with_second_step(cell.candidate);
    if (differ) tensor_row(cell.reference, 0, "moment2", head_weight).digest = other_digest;
    if (differ) tensor_row(cell.candidate, -1, "moment2", head_weight).digest = other_digest;

    const auto result = result_of(cell.judge(), "tied_weights");

    EXPECT_EQ(result.compared.at("tied_copies"), 3 + 4);
    EXPECT_EQ(result.outcome, differ ? Outcome::differs : Outcome::holds);
    EXPECT_EQ(result.first_divergence.value_or(Finding{}).what, differ ? "moment2 lm_head.weight" : "");
  }
}

// There parameters and gradients compare nothing more.
TEST(TiedWeights, AreComparedAfterAnotherStart) {
  for (const auto& kind : kinds_of_step) {
    SyntheticCell cell;
    tensor_row(cell.candidate, -1, "parameter", "model.norm.weight").digest = other_digest;
    tensor_row(cell.candidate, 1, kind, head_weight).digest = other_digest;

    const auto verdict = cell.judge();

    EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("parameters", "tied_weights"));
    EXPECT_THAT(with_outcome(verdict, Outcome::incomplete), Contains("gradients"));
    const Finding found = result_of(verdict, "tied_weights").first_divergence.value();
    expect_finding(found, {.step = 1, .what = kind + " " + head_weight});
  }
}

// As of a trainer whose last stage is sent the weight and has no gradient of it. Where a row is due others find it
// absent.
TEST(TiedWeights, WithoutARowAreNotCovered) {
  SyntheticCell cell;
  for (RankRecord& rank : cell.all_ranks()) {
    std::erase_if(rank.tensors,
                  [](const auto& row) { return row.name == head_weight && row.kind == "gradient" && row.step == 1; });
  }
  const auto verdict = cell.judge();
  const auto result = result_of(verdict, "tied_weights");
  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_EQ(result.compared.at("tied_copies"), 4 * synthetic_steps);
  EXPECT_THAT(result.not_shown, ElementsAre("copies without a row"));
  EXPECT_FALSE(verdict.holds);
}

TEST(TiedWeights, OfUnknownNamesAreNotCovered) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["tied"] = Json::array({{"one", "other"}});
  EXPECT_THAT(result_of(cell.judge(), "tied_weights").reason, HasSubstr("a check that compares too little"));
}

TEST(TiedWeights, DoNotApplyWhereThereIsOneCopy) {
  for (const auto& plan : {SyntheticPlan{.tied = false}, one_stage()}) {
    SyntheticCell cell(plan);
    const auto verdict = cell.judge();
    EXPECT_TRUE(verdict.holds);
    EXPECT_EQ(result_of(verdict, "tied_weights").outcome, Outcome::does_not_apply);
  }
}

TEST(TiedWeights, ApplyToTwoStagesOfOneRankAndNotToOneStageOfSeveral) {
  Manifest manifest;
  manifest.tied = {{head_weight, embedding_weight}};
  manifest.stages = {{0, 0, {"embed_tokens"}}, {1, 1, {"layers.0"}}, {2, 0, {"norm", "lm_head"}}};
  EXPECT_FALSE(not_applicable("tied_weights", {}, manifest));
  manifest.tied = {{"a.weight", "b.weight"}};
  manifest.stages = {{0, 0, {"a", "b"}}, {1, 1, {"c"}}};
  EXPECT_TRUE(not_applicable("tied_weights", {}, manifest));
  manifest.tied = {{"a.weight", "of no unit"}};
  EXPECT_FALSE(not_applicable("tied_weights", {}, manifest));
}

TEST(TiedWeights, WithinLimitsDoNotApplyToGpusOfSeveralModels) {
  Manifest manifest;
  manifest.tied = {{head_weight, embedding_weight}};
  manifest.stages = {{0, 0, {"embed_tokens"}}, {1, 1, {"lm_head"}}};
  manifest.json = {{"machine", {{"gpus", {"A100", "H100"}}}}};
  CellPlan within_limits;
  within_limits.calibration = "calibration.json";
  EXPECT_TRUE(not_applicable("tied_weights", within_limits, manifest));
  EXPECT_FALSE(not_applicable("tied_weights", {}, manifest));
}

}  // namespace
}  // namespace plumbline::testing
