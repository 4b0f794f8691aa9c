// SPDX-License-Identifier: BSD-3-Clause
// The model of two records: a Llama, or the model that an external reference lists.
#include <gmock/gmock.h>

#include <algorithm>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;

/// Prefixes of names, in the order in which they are tried.
const std::vector<std::pair<std::string, std::string>> own_names = {{"model.layers.0.input_layernorm", "scale"},
                                                                    {"model.layers.0", "body.0"},
                                                                    {"model.layers.1.input_layernorm", "shift"},
                                                                    {"model.layers.1", "body.1"},
                                                                    {"model.embed_tokens", "inputs"},
                                                                    {"model.norm", "final"},
                                                                    {"lm_head", "outputs"}};

std::string own_name(const std::string& name) {
  for (const auto& [ours, own] : own_names) {
    if (name.starts_with(ours)) return own + name.substr(ours.size());
  }
  return name;
}

class ModelOfRecords : public ::testing::Test {
 protected:
  ModelOfRecords() {
    for (SyntheticRun* run : {&reference, &candidate}) {
      run->manifest["role"] = "external";
      for (RankRecord& rank : run->ranks) rank.saved.clear();
    }
  }

  /// Custom names and units; `body` has what body.0 has.
  void name_otherwise() {
    for (SyntheticRun* run : {&reference, &candidate}) {
      run->manifest["model"] = {{"kind", "own"}};
      run->manifest["tied"] = Json::array();
      for (TensorRow& row : run->rows(&RankRecord::tensors)) row.name = own_name(row.name);
    }
    reference.manifest["stages"][0]["units"] = {"inputs", "body.1", "body", "final", "outputs"};
    candidate.manifest["stages"][0]["units"] = {"inputs", "body"};
    candidate.manifest["stages"][1]["units"] = {"body.1", "final", "outputs"};
  }

  judging::ExpectedModel model() {
    ++written_;
    const auto record = [&](const SyntheticRun& run, const std::string& name) {
      const auto folder = folder_ / (name + std::to_string(written_));
      write_run(run, folder);
      Record made;
      made.path = folder;
      made.manifest = read_manifest(folder);
      return made;
    };
    return judging::model_of_records(record(reference, "reference"), record(candidate, "candidate"));
  }

  static std::string unit_of(const judging::ExpectedModel& model, const std::string& parameter) {
    const auto position = model.parameter_position(parameter);
    return position ? model.parameters[static_cast<std::size_t>(*position)].unit : "no such parameter";
  }

  SyntheticRun reference = synthetic_reference({}), candidate = synthetic_candidate({});

 private:
  TemporaryFolder folder_;
  int written_ = 0;
};

TEST_F(ModelOfRecords, OfALlamaFollowsItsConfiguration) {
  const auto found = model();

  EXPECT_TRUE(found.has_sizes());
  EXPECT_EQ(found.units, judging::expected_model(reference.manifest.at("model")).units);
  EXPECT_EQ(found.vocabulary, 8);
}

TEST_F(ModelOfRecords, OfALlamaWithOtherNamesIsWhatTheRecordLists) {
  for (TensorRow& row : reference.rows(&RankRecord::tensors)) row.name = "module." + row.name;
  const auto found = model();

  EXPECT_FALSE(found.has_sizes());
  EXPECT_TRUE(found.parameter_position("module.model.norm.weight"));
  EXPECT_FALSE(found.parameter_position("model.norm.weight"));
}

TEST_F(ModelOfRecords, OfALlamaInOtherUnitsIsWhatTheRecordLists) {
  reference.manifest["stages"][0]["units"] = {"embed_tokens", "layers.0", "layers.1", "norm", "lm_head", "loss"};

  const auto found = model();

  EXPECT_FALSE(found.has_sizes());
  EXPECT_EQ(found.units.back(), "loss");
}

TEST_F(ModelOfRecords, OfAnotherModelHasTheParametersOfTheReferencesStart) {
  name_otherwise();
  std::vector<std::string> names;
  for (const TensorRow& row : reference.ranks[0].tensors) {
    if (row.step == -1 && row.kind == "parameter") names.push_back(row.name);
  }
  tensor_row(reference, -1, "parameter", "final.weight").dtype = "float64";

  const auto found = model();

  EXPECT_FALSE(found.has_sizes());
  EXPECT_THAT(found.units, ElementsAre("inputs", "body.1", "body", "final", "outputs"));
  ASSERT_EQ(found.parameters.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(found.parameters[i].name, names[i]);
  const auto& final_weight = found.parameters[static_cast<std::size_t>(*found.parameter_position("final.weight"))];
  EXPECT_EQ(final_weight.shape, Shape{4});
  EXPECT_EQ(final_weight.dtype, "float64");
}

TEST_F(ModelOfRecords, AParameterBelongsToTheLongestUnitPrefix) {
  name_otherwise();

  const auto found = model();

  EXPECT_EQ(unit_of(found, "inputs.weight"), "inputs");
  EXPECT_EQ(unit_of(found, "body.0.mlp.up_proj.weight"), "body");
  EXPECT_EQ(unit_of(found, "body.1.mlp.up_proj.weight"), "body.1");
  EXPECT_EQ(unit_of(found, "outputs.weight"), "outputs");
}

TEST_F(ModelOfRecords, AParameterWithoutAUnitPrefixBelongsToItsStage) {
  name_otherwise();

  EXPECT_EQ(unit_of(model(), "scale.weight"), "inputs") << "the unit of the candidate's first stage";
  EXPECT_EQ(unit_of(model(), "shift.weight"), "body.1") << "the unit of its second stage";

  candidate.erase(&RankRecord::tensors, [](const TensorRow& row) { return row.name == "shift.weight"; });
  EXPECT_EQ(unit_of(model(), "shift.weight"), "inputs") << "the unit of the reference's only stage";
}

TEST_F(ModelOfRecords, AParameterOnTwoRanksOfAReferenceCountsOnce) {
  name_otherwise();
  reference = candidate;
  TensorRow again = tensor_row(reference, -1, "parameter", "inputs.weight");
  again.stage = 1;
  reference.ranks[1].tensors.insert(reference.ranks[1].tensors.begin(), again);

  const auto found = model();

  EXPECT_EQ(std::ranges::count_if(found.parameters, [](const auto& each) { return each.name == "inputs.weight"; }), 1);
  EXPECT_TRUE(found.parameter_position("outputs.weight")) << "it is on the second rank";
}

}  // namespace
}  // namespace plumbline::testing
