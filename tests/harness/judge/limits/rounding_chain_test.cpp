#include "harness/judge/limits/rounding_chain.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/error.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::judging {
namespace {

/// Vocabulary 8, hidden 4, intermediate 6, 2 layers, 2 heads of 2; lengths 3 1 4 3 2.
class Chains : public ::testing::Test {
 protected:
  Chains() {
    const testing::SyntheticPlan plan;
    testing::write_run(testing::synthetic_reference(plan), folder_ / "run");
    record_ = read_record(folder_ / "run");
  }
  testing::TemporaryFolder folder_;
  Record record_;
};

TEST_F(Chains, CountTheSumsOnTheWay) {
  const RoundingChains chains(record_);

  // Microbatch 2 has length 4. A layer: four sums over hidden, the scores, softmax and mix over the row, o, down.
  const double layer = 4 * 4 + 2 + 2 * 4 + 2 * 2 + 6;
  EXPECT_EQ(chains.forward(0, 2, "layers.0").terms, 0) << "a row was looked up";
  EXPECT_EQ(chains.forward(0, 2, "layers.1").terms, layer);
  EXPECT_EQ(chains.forward(0, 2, "lm_head").terms, 2 * layer + 4);
  // Forward whole (head: 4), loss there and back over vocabulary and tokens, head twice.
  EXPECT_EQ(chains.backward(0, 2, "lm_head").terms, 2 * layer + 4 + 4 + 2 * (8 + 4) + 2 * 4);
  EXPECT_EQ(chains.gradient(0, "lm_head").terms, chains.backward(0, 2, "lm_head").terms + 13) << "tokens of the step";
}

TEST_F(Chains, GrowAlongTheModelAndWithTheSteps) {
  const RoundingChains chains(record_);
  const auto n = [](const Chain& chain) { return RoundingChains::equivalent(chain, "float32"); };

  EXPECT_LT(n(chains.forward(0, 0, "layers.0")), n(chains.forward(0, 0, "layers.1")));
  EXPECT_LT(n(chains.forward(0, 1, "norm")), n(chains.forward(0, 2, "norm"))) << "lengths 1 and 4";
  EXPECT_LT(n(chains.forward(0, 0, "lm_head")), n(chains.backward(0, 0, "lm_head")));
  EXPECT_LT(n(chains.backward(0, 0, "norm")), n(chains.backward(0, 0, "layers.0")));
  EXPECT_LT(n(chains.gradient(0, "embed_tokens")), n(chains.updated(0)));
  EXPECT_LT(n(chains.updated(0)), n(chains.loss(1)));
  EXPECT_THROW(chains.forward(0, 0, "layers.7"), InputError);
}

TEST_F(Chains, OfSumsInsideABfloat16ProductHardlyCount) {
  const Chain chain{10, 65536};

  EXPECT_EQ(RoundingChains::equivalent(chain, "float32"), 65546);
  EXPECT_NEAR(RoundingChains::equivalent(chain, "bfloat16"), 10, 1e-4);  // 65536 (2^-16)^2
}

TEST(RoundingCap, GrowsWithTheRoot) {
  EXPECT_DOUBLE_EQ(rounding_cap(100, "float32"), 8 * 10 * std::ldexp(1.0, -24));
  EXPECT_DOUBLE_EQ(rounding_cap(16, "bfloat16"), 2 * rounding_cap(4, "bfloat16"));
  EXPECT_DOUBLE_EQ(unit_roundoff("bfloat16"), 0.00390625);
  EXPECT_EQ(rounding_cap(1e6, "bfloat16"), 0.5) << "a tensor of zeros is 1 off, and must never pass";
  EXPECT_THROW(unit_roundoff("int64"), InputError);
}

}  // namespace
}  // namespace plumbline::judging
