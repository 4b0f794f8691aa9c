// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

void drop_tensors(RankRecord& rank, const std::string& part) {
  std::erase_if(rank.tensors, [&](const auto& row) { return row.name.find(part) != std::string::npos; });
}

// The recorder lists modules as they are registered: values tell what another order hides.
/// Moves the initial model.norm.weight to rank 0, the row's stage being `stage`.
void move_norm_to_first_rank(SyntheticRun& run, std::int64_t stage) {
  auto norm = tensor_row(run, -1, "parameter", "model.norm.weight");
  norm.stage = stage;
  std::erase_if(run.ranks[1].tensors,
                [](const auto& row) { return row.step == -1 && row.name == "model.norm.weight"; });
  run.ranks[0].tensors.push_back(norm);
}

TEST(Census, AnotherOrderOfUnitsComesAfterValues) {
  for (const bool wrong : {true, false}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    cell.candidate.manifest["stages"][1]["units"] = {"norm", "layers.1", "lm_head"};
    if (wrong) tensor_row(cell.candidate, 1, "gradient", "model.norm.weight").digest = other_digest;

    const auto verdict = cell.judge();

    EXPECT_EQ(result_of(verdict, "census").outcome, Outcome::differs);
    if (wrong) {
      EXPECT_NE(verdict.first_divergence.value().level, "census");
    }
  }
}

TEST(Census, AMissingHeadSuggestsTying) {
  SyntheticCell cell({.tied = false});
  drop_tensors(cell.candidate.ranks[1], "lm_head");

  EXPECT_THAT(result_of(cell.judge(), "census").reason, HasSubstr("tie_word_embeddings = true"));
}

TEST(Census, EachMistakeInLayersAndParametersIsReported) {
  expect_each_fails(
      "census",
      {{"a layer that no rank holds though the manifest lists it",
        [](auto& cell) { drop_tensors(cell.candidate.ranks[1], "layers.1."); },
        {.level = "census", .item = "layers.1"}},
       {"a layer that the partition forgot",
        [](auto& cell) {
          cell.candidate.manifest["stages"][1]["units"] = {"norm", "lm_head"};
          drop_tensors(cell.candidate.ranks[1], "layers.1.");
        },
        {.item = "layers.1"}},
       {"a layer that the partition gave twice",
        [](auto& cell) {
          cell.candidate.manifest["stages"][0]["units"] = {"embed_tokens", "layers.0", "layers.1"};
        },
        {.item = "layers.1"}},
       {"a layer held by two ranks",
        [](auto& cell) {
          auto copy = tensor_row(cell.candidate, -1, "parameter", "model.layers.1.self_attn.q_proj.weight");
          copy.stage = 0;
          cell.candidate.ranks[0].tensors.push_back(copy);
        },
        {.item = "layers.1"}},
       {"a parameter on another rank than its stage",
        [](auto& cell) { move_norm_to_first_rank(cell.candidate, 0); },
        {.item = "norm"}},
       {"a wrong shape in both records",
        [](auto& cell) {
          for (auto* run : {&cell.reference, &cell.candidate})
            tensor_row(*run, -1, "parameter", "model.layers.0.self_attn.k_proj.weight").shape = {4, 4};
        },
        {.item = "layers.0"}},
       {"another dtype than the run's in both records",
        [](auto& cell) {
          for (auto* run : {&cell.reference, &cell.candidate})
            tensor_row(*run, -1, "parameter", "model.layers.0.self_attn.k_proj.weight").dtype = "bfloat16";
        },
        {.item = "layers.0"}},
       {"an unknown parameter",
        [](auto& cell) {
          auto row = tensor_row(cell.candidate, -1, "parameter", "model.norm.weight");
          row.name = "model.norm.bias";
          cell.candidate.ranks[1].tensors.push_back(row);
        },
        {.item = "model.norm.bias"}},
       {"tied in the model but not in the manifests",
        [](auto& cell) {
          for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["tied"] = Json::array();
        },
        {.item = "tied"}},
       {"a second pair that is called tied",
        [](auto& cell) {
          cell.candidate.manifest["tied"].push_back({"model.norm.weight", "model.layers.0.input_layernorm.weight"});
        },
        {.words = "candidate: tied weights of the manifest"}},
       {"a unit that the model does not have",
        [](auto& cell) {
          cell.candidate.manifest["stages"][0]["units"] = {"embed_tokens", "layers.0", "layers.7"};
        },
        {.words = "layers.7 is not a unit of this model"}},
       {"units that are not in the model's order",
        [](auto& cell) {
          cell.candidate.manifest["stages"][1]["units"] = {"norm", "layers.1", "lm_head"};
        },
        {.words = "not in the order of the model"}},
       {"the reference's are held to it as well",
        [](auto& cell) { drop_tensors(cell.reference.ranks[0], "layers.1."); },
        {.words = "reference: model.layers.1."}},
       {"frozen in both records, but no parameter of the model",
        [](auto& cell) {
          for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["frozen"] = {"model.ghost"};
        },
        {.words = "frozen in manifest.json: model.ghost is not a parameter of this model"}}});
}

TEST(Census, AStageOnAnotherRankIsRefused) {
  SyntheticCell cell;
  move_norm_to_first_rank(cell.candidate, 1);

  expect_red(cell, {"completion"},
             {.rank = 0, .item = "rank-0/tensors.csv", .words = "candidate/rank-0/tensors.csv:12: column 'stage': "});
}

TEST(Census, AnotherShapeIsReportedWithItsRank) {
  SyntheticCell cell;
  auto& row = tensor_row(cell.candidate, -1, "parameter", "model.norm.weight");
  row.shape = {2, 2};
  row.nonzero_rows = 2;

  const auto found = expect_fails(cell, "census", {.step = -1, .rank = 1, .item = "norm"});
  EXPECT_THAT(found.expected, HasSubstr("4"));
  EXPECT_THAT(found.got, HasSubstr("2"));
}

TEST(Census, ExternalTrainersGetAdviceOnNames) {
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
              HasSubstr("list them with units="));
}

}  // namespace
}  // namespace plumbline::testing
