// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/expected/zero_digests.hpp"
#include "record/digest.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// A gradient of nothing but zeros, and after step 0, where they begin, its moments. All gradients having one size,
/// another takes its share of the norm: nothing but the zeros is out of the way.
void make_gradient_zero(SyntheticRun& run, std::int64_t step, const std::string& name) {
  for (const std::string kind : {"gradient", "moment1", "moment2"}) {
    if (kind != "gradient" && step > 0) continue;
    TensorRow& row = tensor_row(run, step, kind, name);
    row.digest = tensor_digest(row.dtype, row.shape, std::vector<std::byte>(static_cast<std::size_t>(4 * row.nonzero)));
    row.l2 = row.max_abs = 0, row.nonzero = 0, row.nonzero_rows = 0;
    TensorRow& grown = tensor_row(run, step, kind, "model.norm.weight");
    const double factor = kind == "moment2" ? 2 : std::sqrt(2);
    grown.l2 *= factor;
    grown.max_abs *= static_cast<float>(factor);
  }
}

TEST(NonzeroGradients, AllZeroInBothRecords) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate})
    make_gradient_zero(*run, 1, "model.layers.0.self_attn.o_proj.weight");
  EXPECT_THAT(
      expect_red(cell, {"nonzero_gradients"}, {.step = 1, .item = "model.layers.0.self_attn.o_proj.weight"}).got,
      HasSubstr("all zero"));
}

/// All rows of the step have one token: query and key have no say.
void make_rows_of_length_one(SyntheticRun& run, std::int64_t step) {
  for (auto& rank : run.ranks) {
    for (auto& row : rank.microbatches) {
      if (row.step != step) continue;
      row.sequence_length = row.tokens = 1;
      row.valid_tokens = std::min<std::int64_t>(row.valid_tokens, 1);
    }
    for (auto& row : rank.steps) {
      if (row.step != step) continue;
      row.tokens = synthetic_microbatches;
      row.valid_tokens = synthetic_microbatches - 1;  // the last is masked
      row.live_tokens = row.valid_tokens;
    }
  }
}

TEST(NonzeroGradients, OfQueryAndKeyMayBeZeroIfEveryRowHasLengthOne) {
  for (const std::string name : {"self_attn.q_proj", "self_attn.k_proj"}) {
    for (const bool length_one : {true, false}) {
      SyntheticCell cell;
      for (auto* run : {&cell.reference, &cell.candidate}) {
        if (length_one) make_rows_of_length_one(*run, 0);
        make_gradient_zero(*run, 0, "model.layers.0." + name + ".weight");
      }

      SCOPED_TRACE(name);
      expect_outcome(cell, "nonzero_gradients", length_one ? Outcome::holds : Outcome::differs);
    }
  }
}

TEST(NonzeroGradients, OfValuesMustNotBeZero) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    make_rows_of_length_one(*run, 0);
    make_gradient_zero(*run, 0, "model.layers.0.self_attn.v_proj.weight");
  }

  EXPECT_EQ(result_of(cell.judge(), "nonzero_gradients").outcome, Outcome::differs);
}

TEST(NonzeroGradients, UntiedEmbeddingRowsMatchLiveTokens) {
  SyntheticCell cell({.tied = false});
  for (auto* run : {&cell.reference, &cell.candidate})
    tensor_row(*run, 0, "gradient", embedding_weight).nonzero_rows = 5;
  EXPECT_THAT(expect_red(cell, {"nonzero_gradients"}, {.step = 0, .item = embedding_weight}).expected,
              HasSubstr("6 non-zero rows"));
}

// transformers gives the embedding of pad_token_id no gradient; in the text it may stand or not.
TEST(NonzeroGradients, OnlyThePadTokensRowMayBeZero) {
  for (const auto& [rows, holds] : {std::pair{6, true}, {5, true}, {4, false}, {7, false}}) {
    SyntheticCell cell({.tied = false});
    for (auto* run : {&cell.reference, &cell.candidate}) {
      run->manifest["model"]["pad_token_id"] = 2;
      tensor_row(*run, 0, "gradient", embedding_weight).nonzero_rows = rows;
    }
    EXPECT_EQ(cell.judge().holds, holds) << rows;
  }
}

TEST(NonzeroGradients, ZeroBoundaryGradientOfAMicrobatchWithValidLabels) {
  SyntheticCell cell;
  const Shape shape = {1, 4, 4};
  const std::string zeros = tensor_digest("float32", shape, std::vector<std::byte>(64));
  for (BoundaryRow& row : cell.rows(&RankRecord::boundaries)) {
    if (row.step == 0 && row.microbatch == 2 && row.direction == "backward" && row.cut == "layers.1")
      row.digest = zeros;
  }
  const auto found = expect_red(cell, {"nonzero_gradients"}, {.step = 0, .item = "layers.1"});
  EXPECT_EQ(found.microbatch, 2);
  EXPECT_THAT(found.words, HasSubstr("reference: ")) << "of both the first";
}

TEST(NonzeroGradients, ZeroBoundaryGradientOfAFullyMaskedMicrobatchIsCorrect) {
  SyntheticCell cell;
  const std::string zeros = tensor_digest("float32", {1, 2, 4}, std::vector<std::byte>(32));
  for (BoundaryRow& row : cell.rows(&RankRecord::boundaries)) {
    if (row.microbatch == 4 && row.direction == "backward") row.digest = zeros;
  }
  EXPECT_TRUE(cell.judge().holds);
}

TEST(NonzeroGradients, TheDigestOfZerosIsFoundWithAnyCounts) {
  SyntheticCell cell;
  judging::ZeroDigests zeros;
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    TensorRow& row = tensor_row(*run, 1, "gradient", "model.layers.0.mlp.up_proj.weight");
    row.digest = zeros.digest(row.dtype, row.shape);
  }
  EXPECT_THAT(expect_outcome(cell, "nonzero_gradients", Outcome::differs).reason,
              HasSubstr("expected the digest of 24 elements that are not 0, got the digest of zeros"));
}

TEST(NonzeroGradients, UnchangedExternalParametersMayLackItAndAreNamed) {
  const std::string name = "model.layers.0.mlp.up_proj.weight";
  for (const bool both : {true, false}) {
    SyntheticCell cell;
    for (auto* run : {&cell.reference, &cell.candidate}) {
      run->manifest["role"] = "external";
      for (TensorRow& row : run->rows(&RankRecord::tensors))
        if (row.kind == "parameter" && row.name == name) row.digest = other_digest;
      if (!both && run == &cell.reference) continue;
      run->erase(&RankRecord::tensors,
                 [&](const TensorRow& row) { return row.name == name && row.kind != "parameter"; });
    }

    const auto result = expect_outcome(cell, "nonzero_gradients", both ? Outcome::holds : Outcome::differs);
    if (!both) continue;
    EXPECT_THAT(result.reason, HasSubstr("parameters that a step does not change lack one"));
    EXPECT_THAT(result.not_shown, Contains(name + " never gets a gradient in either run (unused or detached)"));
  }
}

}  // namespace
}  // namespace plumbline::testing
