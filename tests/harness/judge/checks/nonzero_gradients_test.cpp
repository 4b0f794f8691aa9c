#include <gmock/gmock.h>

#include "record/digest.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* embedding = "model.embed_tokens.weight";

TEST(NonzeroGradients, AllZeroInBothRecords) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate})
    tensor_row(*run, 1, "gradient", "model.layers.0.self_attn.o_proj.weight").nonzero = 0;
  EXPECT_THAT(expect_red(cell, {"nonzero_gradients"}, "model.layers.0.self_attn.o_proj.weight", 1).got,
              HasSubstr("all zero"));
}

/// All rows of the step have one token: query and key have no say.
void make_rows_of_length_one(SyntheticRun& run, std::int64_t step) {
  for (auto& rank : run.ranks) {
    for (auto& row : rank.microbatches) {
      if (row.step == step) row.sequence_length = 1;
    }
  }
}

TEST(NonzeroGradients, OfQueryAndKeyAreRightlyZeroWhereEveryRowHasLengthOne) {
  for (const std::string name : {"self_attn.q_proj", "self_attn.k_proj"}) {
    for (const bool length_one : {true, false}) {
      SyntheticCell cell;
      for (auto* run : {&cell.reference, &cell.candidate}) {
        if (length_one) make_rows_of_length_one(*run, 0);
        tensor_row(*run, 0, "gradient", "model.layers.0." + name + ".weight").nonzero = 0;
      }

      const auto result = result_of(cell.judge(), "nonzero_gradients");

      EXPECT_EQ(result.outcome, length_one ? Outcome::holds : Outcome::fails) << name << ": " << result.reason;
    }
  }
}

TEST(NonzeroGradients, OfValuesAreNeverRightlyZero) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    make_rows_of_length_one(*run, 0);
    tensor_row(*run, 0, "gradient", "model.layers.0.self_attn.v_proj.weight").nonzero = 0;
  }

  EXPECT_EQ(result_of(cell.judge(), "nonzero_gradients").outcome, Outcome::fails);
}

TEST(NonzeroGradients, UntiedEmbeddingRowsAreThoseOfLiveTokens) {
  SyntheticPlan plan;
  plan.tied = false;
  SyntheticCell cell(plan);
  for (auto* run : {&cell.reference, &cell.candidate}) tensor_row(*run, 0, "gradient", embedding).nonzero_rows = 5;
  EXPECT_THAT(expect_red(cell, {"nonzero_gradients"}, embedding, 0).expected, HasSubstr("6 non-zero rows"));
}

// transformers gives the embedding of pad_token_id no gradient; in the text it may stand or not.
TEST(NonzeroGradients, PadTokensRowMayBeZeroAndNoOther) {
  SyntheticPlan plan;
  plan.tied = false;
  for (const auto& [rows, holds] : {std::pair{6, true}, {5, true}, {4, false}, {7, false}}) {
    SyntheticCell cell(plan);
    for (auto* run : {&cell.reference, &cell.candidate}) {
      run->manifest["model"]["pad_token_id"] = 2;
      tensor_row(*run, 0, "gradient", embedding).nonzero_rows = rows;
    }
    EXPECT_EQ(cell.judge().holds, holds) << rows;
  }
}

TEST(NonzeroGradients, ZeroBoundaryGradientOfAMicrobatchWithValidLabels) {
  SyntheticCell cell;
  const Shape shape = {1, 4, 4};
  const std::string zeros = tensor_digest("float32", shape, std::vector<std::byte>(64));
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.boundaries) {
        if (row.step == 0 && row.microbatch == 2 && row.direction == "backward" && row.cut == "layers.1")
          row.digest = zeros;
      }
    }
  }
  EXPECT_EQ(expect_red(cell, {"nonzero_gradients"}, "layers.1", 0).microbatch, 2);
}

TEST(NonzeroGradients, ZeroBoundaryGradientOfAFullyMaskedMicrobatchIsRight) {
  SyntheticCell cell;
  const std::string zeros = tensor_digest("float32", {1, 2, 4}, std::vector<std::byte>(32));
  for (auto* run : {&cell.reference, &cell.candidate}) {
    for (auto& rank : run->ranks) {
      for (auto& row : rank.boundaries) {
        if (row.microbatch == 4 && row.direction == "backward") row.digest = zeros;
      }
    }
  }
  EXPECT_TRUE(cell.judge().holds);
}

}  // namespace
}  // namespace plumbline::testing
