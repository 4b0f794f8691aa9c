// SPDX-License-Identifier: BSD-3-Clause
// What a run creates from its settings before it trains: slices, their values, the rows of an evaluation.
#include "training/model_slice.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "model/initialize.hpp"
#include "model/parameter.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"
#include "training/trainer.hpp"

namespace plumbline {
namespace {

/// Two microbatches, the second longer than the first.
plumbline::Run made_of(const testing::TemporaryFolder& folder, const std::string& train, const std::string& lengths) {
  return load_run(
      folder.file("run.toml", testing::run_text("seed = 9\nlengths = " + lengths + "\n", "steps = 1\n" + train)),
      std::nullopt);
}

TEST(MakeSlice, HasPositionsForTheLongestMicrobatch) {
  const testing::TemporaryFolder folder;
  const plumbline::Run run = made_of(folder, "", "[2, 5]");
  const LlamaSlice slice = make_slice(run, {1, 2});

  EXPECT_NO_THROW(slice.forward_unit(1, at::zeros({1, 5, run.config.hidden_size})));
  EXPECT_FALSE(slice.parameters().front().master.defined());
}

TEST(MakeSlice, InMixedPrecisionKeepsMasters) {
  const testing::TemporaryFolder folder;
  const LlamaSlice slice = make_slice(made_of(folder, "precision = \"mixed\"\n", "[2]"), {1, 2});

  for (const Parameter& parameter : slice.parameters()) {
    EXPECT_EQ(parameter.value.scalar_type(), at::kBFloat16);
    EXPECT_EQ(parameter.master.scalar_type(), at::kFloat);
  }
}

TEST(InitialValues, UseTheTrainingSeed) {
  const testing::TemporaryFolder folder;
  const plumbline::Run run = made_of(folder, "seed = 3\n", "[2]");
  LlamaSlice slice = make_slice(run, {0, 2}), drawn = make_slice(run, {0, 2});

  set_initial_values(slice, run.file);
  initialize(drawn, 3);

  for (std::size_t i = 0; i < slice.parameters().size(); ++i) {
    EXPECT_TRUE(at::equal(slice.parameters()[i].value, drawn.parameters()[i].value)) << slice.parameters()[i].name;
  }
}

TEST(EvaluationRows, CoverTheMicrobatchesAndTheirSum) {
  const testing::TemporaryFolder folder;
  const plumbline::Run run = made_of(folder, "", "[6, 2]");

  const auto rows = evaluation_rows(4, run.batches, {{1.5F, 2.25F}, {"a", "b"}});

  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].loss, 2.25F);
  EXPECT_EQ(rows[1].tokens, 2);
  EXPECT_EQ(rows[1].data_digest, "b");
  EXPECT_FALSE(rows[2].microbatch);
  EXPECT_EQ(rows[2].loss, 3.75F);
  EXPECT_EQ(rows[2].tokens, 8);
  EXPECT_EQ(rows[2].valid_tokens, 8);
}

}  // namespace
}  // namespace plumbline
