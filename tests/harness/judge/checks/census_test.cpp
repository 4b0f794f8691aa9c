// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void expect_census_names(SyntheticCell& cell, const std::string& item) {
  const auto verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "census").outcome, Outcome::fails) << result_of(verdict, "completion").reason;
  ASSERT_TRUE(verdict.first_divergence);
  EXPECT_EQ(verdict.first_divergence->level, "census");
  EXPECT_EQ(verdict.first_divergence->item, item);
}

void drop_tensors(RankRecord& rank, const std::string& part) {
  std::erase_if(rank.tensors, [&](const auto& row) { return row.name.find(part) != std::string::npos; });
}

TEST(Census, LayerThatNoRankHoldsThoughTheManifestListsIt) {
  SyntheticCell cell;
  drop_tensors(cell.candidate.ranks[1], "layers.1.");
  expect_census_names(cell, "layers.1");
}

TEST(Census, LayerThatThePartitionForgot) {
  SyntheticCell cell;
  cell.candidate.manifest["stages"][1]["units"] = {"norm", "lm_head"};
  drop_tensors(cell.candidate.ranks[1], "layers.1.");
  expect_census_names(cell, "layers.1");
}

TEST(Census, LayerThatThePartitionGaveTwice) {
  SyntheticCell cell;
  cell.candidate.manifest["stages"][0]["units"] = {"embed_tokens", "layers.0", "layers.1"};
  expect_census_names(cell, "layers.1");
}

// The recorder lists modules as they are registered: values tell what another order hides.
TEST(Census, OfTheSameUnitsInAnotherOrderStandsBehindTheValues) {
  for (const bool wrong : {true, false}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    cell.candidate.manifest["stages"][1]["units"] = {"norm", "layers.1", "lm_head"};
    if (wrong) tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;

    const auto verdict = cell.judge();

    EXPECT_EQ(result_of(verdict, "census").outcome, Outcome::fails);
    if (wrong) {
      EXPECT_NE(verdict.first_divergence.value().level, "census");
    }
  }
}

TEST(Census, OfAMissingHeadAsksWhetherItIsTied) {
  SyntheticPlan untied;
  untied.tied = false;
  SyntheticCell cell(untied);
  drop_tensors(cell.candidate.ranks[1], "lm_head");

  EXPECT_THAT(result_of(cell.judge(), "census").reason, HasSubstr("tie_word_embeddings = true"));
}

TEST(Census, LayerHeldByTwoRanks) {
  SyntheticCell cell;
  auto copy = tensor_row(cell.candidate, -1, "parameter", "model.layers.1.self_attn.q_proj.weight");
  copy.stage = 0;
  cell.candidate.ranks[0].tensors.push_back(copy);
  expect_census_names(cell, "layers.1");
}

/// Moves the initial model.norm.weight to rank 0, the row's stage being `stage`.
void move_norm_to_first_rank(SyntheticRun& run, std::int64_t stage) {
  auto norm = tensor_row(run, -1, "parameter", "model.norm.weight");
  norm.stage = stage;
  std::erase_if(run.ranks[1].tensors,
                [](const auto& row) { return row.step == -1 && row.name == "model.norm.weight"; });
  run.ranks[0].tensors.push_back(norm);
}

TEST(Census, ParameterOnAnotherRankThanItsStage) {
  SyntheticCell cell;
  move_norm_to_first_rank(cell.candidate, 0);
  expect_census_names(cell, "norm");
}

TEST(Census, AStageThatLiesOnAnotherRankIsNotEvenRead) {
  SyntheticCell cell;
  move_norm_to_first_rank(cell.candidate, 1);

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::fails), ElementsAre("completion"));
  EXPECT_THAT(result_of(verdict, "completion").reason, HasSubstr("candidate/rank-0/tensors.csv:12: column 'stage': "));
  ASSERT_TRUE(verdict.first_divergence);
  EXPECT_EQ(verdict.first_divergence->item, "rank-0/tensors.csv");
  EXPECT_EQ(verdict.first_divergence->rank, 0);
}

TEST(Census, WrongShapeInBothRecordsIsSeenAgainstTheConfiguration) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    tensor_row(*run, -1, "parameter", "model.layers.0.self_attn.k_proj.weight").shape = {4, 4};
  }
  expect_census_names(cell, "layers.0");
}

TEST(Census, UnknownParameter) {
  SyntheticCell cell;
  auto row = tensor_row(cell.candidate, -1, "parameter", "model.norm.weight");
  row.name = "model.norm.bias";
  cell.candidate.ranks[1].tensors.push_back(row);
  expect_census_names(cell, "model.norm.bias");
}

TEST(Census, TiedInTheModelButNotInTheManifests) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["tied"] = Json::array();
  expect_census_names(cell, "tied");
}

TEST(Census, UnitThatTheModelDoesNotHave) {
  SyntheticCell cell;
  cell.candidate.manifest["stages"][0]["units"] = {"embed_tokens", "layers.0", "layers.7"};
  EXPECT_THAT(result_of(cell.judge(), "census").reason, HasSubstr("layers.7 is not a unit of this model"));
}

TEST(Census, UnitsThatAreNotInTheModelsOrder) {
  SyntheticCell cell;
  cell.candidate.manifest["stages"][1]["units"] = {"norm", "layers.1", "lm_head"};
  EXPECT_THAT(result_of(cell.judge(), "census").reason, HasSubstr("not in the order of the model"));
}

TEST(Census, AnotherDtypeInBothRecordsIsSeenAgainstTheRunsOwn) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate})
    tensor_row(*run, -1, "parameter", "model.layers.0.self_attn.k_proj.weight").dtype = "bfloat16";
  expect_census_names(cell, "layers.0");
}

TEST(Census, ASecondPairThatIsCalledTied) {
  SyntheticCell cell;
  cell.candidate.manifest["tied"].push_back({"model.norm.weight", "model.layers.0.input_layernorm.weight"});
  EXPECT_THAT(result_of(cell.judge(), "census").reason, HasSubstr("candidate: tied weights of the manifest"));
}

TEST(Census, TheReferenceIsHeldToItAsWell) {
  SyntheticCell lacks_tensors;
  drop_tensors(lacks_tensors.reference.ranks[0], "layers.1.");
  EXPECT_THAT(result_of(lacks_tensors.judge(), "census").reason, HasSubstr("reference: model.layers.1."));
}

TEST(Census, AnotherFormIsToldWithItsRankAndBothForms) {
  SyntheticCell cell;
  auto& row = tensor_row(cell.candidate, -1, "parameter", "model.norm.weight");
  row.shape = {2, 2};
  row.nonzero_rows = 2;

  const auto found = result_of(cell.judge(), "census").first_divergence.value();

  EXPECT_EQ(found.item, "norm");
  EXPECT_EQ(found.step, -1);
  EXPECT_EQ(found.rank, 1);
  EXPECT_THAT(found.expected, HasSubstr("4"));
  EXPECT_THAT(found.got, HasSubstr("2"));
}

TEST(Census, FrozenInBothRecordsAreParametersOfTheModel) {
  SyntheticCell cell;
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) run->manifest["frozen"] = {"model.ghost"};

  const auto census = result_of(cell.judge(), "census");

  EXPECT_EQ(census.outcome, Outcome::fails);
  EXPECT_THAT(census.reason, HasSubstr("frozen in manifest.json: model.ghost is not a parameter of this model"));
}

TEST(Census, OfAnotherTrainerNamesWhatMakesNamesAlike) {
  const auto reason = [](auto change) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    change(cell.candidate.manifest);
    return result_of(cell.judge(), "census").reason;
  };
  EXPECT_THAT(reason([](Json& manifest) {
                manifest["stages"][1]["units"] = {"layers.0", "norm", "lm_head"};
              }),
              HasSubstr("names= (and units=)"));
  EXPECT_THAT(reason([](Json& manifest) {
                manifest["stages"][1]["units"] = {"norm", "layers.1", "lm_head"};
              }),
              HasSubstr("list them by units="));
}

}  // namespace
}  // namespace plumbline::testing
