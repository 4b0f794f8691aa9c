// SPDX-License-Identifier: BSD-3-Clause
// Relations of two tensors in all dumped dtypes, and the signatures of few elements, of rounding and of a factor.
#include "harness/sweep/fault_signatures/relation.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

const float quiet_nan = std::numeric_limits<float>::quiet_NaN();

/// A tensor that owns its bytes.
template <typename Value>
class Made {
 public:
  Made(const std::string& dtype, std::vector<Value> values, std::vector<std::int64_t> shape = {})
      : values_(std::move(values)) {
    entry_ = {dtype, shape.empty() ? std::vector{std::ssize(values_)} : shape, std::as_bytes(std::span(values_))};
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  operator const SafetensorsEntry&() const { return entry_; }

 private:
  std::vector<Value> values_;
  SafetensorsEntry entry_;
};
using Floats = Made<float>;
using Shorts = Made<std::uint16_t>;

float of_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

TEST(NumbersOf, EveryDtypeOfDumps) {
  EXPECT_THAT(numbers_of(Floats("float32", {1.5F, -2})), ElementsAre(1.5, -2));
  EXPECT_THAT(numbers_of(Made<double>("float64", {1.5, -2})), ElementsAre(1.5, -2));
  EXPECT_THAT(numbers_of(Shorts("bfloat16", {0x3fc0, 0xc000})), ElementsAre(1.5, -2));
  EXPECT_THAT(numbers_of(Made<std::int64_t>("int64", {3})), IsEmpty()) << "ids are no numbers to scale";
  EXPECT_THAT(numbers_of(Shorts("float8", {3})), IsEmpty());
}

TEST(NumbersOf, Float16WithItsSmallestLargestAndSpecialOnes) {
  const auto numbers =
      numbers_of(Shorts("float16", {0x3c00, 0xc000, 0x3555, 0x0001, 0x8001, 0x0400, 0x7bff, 0x7c00, 0xfc00, 0x7e00}));

  constexpr double infinity = std::numeric_limits<double>::infinity();
  ASSERT_EQ(numbers.size(), 10U);
  EXPECT_TRUE(std::isnan(numbers.back()));
  EXPECT_THAT(std::vector(numbers.begin(), numbers.end() - 1),
              ElementsAre(1, -2, 0.333251953125, std::ldexp(1, -24), -std::ldexp(1, -24), std::ldexp(1, -14), 65504,
                          infinity, -infinity));
}

TEST(RelationTolerance, IsWiderOfTwoBytes) {
  EXPECT_EQ(relation_tolerance("bfloat16"), 2e-2);
  EXPECT_EQ(relation_tolerance("float16"), 2e-2);
  EXPECT_EQ(relation_tolerance("float32"), 1e-5);
  EXPECT_EQ(relation_tolerance("float64"), 1e-5);
}

TEST(RelationOf, ARatioAndWhatIsLeftOver) {
  const Relation relation = relation_of(Floats("float32", {2, 0}), Floats("float32", {4, 3}));

  EXPECT_TRUE(relation.comparable);
  EXPECT_FALSE(relation.equal);
  EXPECT_EQ(relation.ratio, 2);
  EXPECT_EQ(relation.residual, 1.5);
  EXPECT_EQ(relation.elements, 2);
  EXPECT_EQ(relation.differing, 2);
}

TEST(RelationOf, OtherShapesAndDtypesAndIntegersAreNotCompared) {
  const Floats whole("float32", {1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_FALSE(relation_of(whole, Floats("float32", {1, 2, 3, 4, 5, 6}, {3, 2})).comparable);
  EXPECT_FALSE(relation_of(Shorts("bfloat16", {0x3f80}), Shorts("float16", {0x3f80})).comparable);
  EXPECT_FALSE(relation_of(Made<std::int64_t>("int64", {1}), Made<std::int64_t>("int64", {1})).comparable);
  EXPECT_FALSE(relation_of(Floats("float32", {}, {0}), Floats("float32", {}, {0})).comparable);
}

TEST(RelationOf, WhereTheReferenceIsNotFiniteNothingIsHeldAgainstIt) {
  const float large = std::numeric_limits<float>::infinity();

  const Relation relation = relation_of(Floats("float32", {large, 2, 1}), Floats("float32", {quiet_nan, 4, 2}));

  EXPECT_EQ(relation.not_finite, 0);
  EXPECT_EQ(relation.ratio, 2);
  EXPECT_EQ(relation.residual, 0);
}

TEST(RelationOf, ANumberThatIsNoneIsCountedAndNoMultiple) {
  const Relation relation = relation_of(Floats("float32", {1, 0}), Floats("float32", {2, quiet_nan}));

  EXPECT_EQ(relation.not_finite, 1);
  EXPECT_FALSE(relation.is_multiple(2, 1e-5));
}

TEST(RelationOf, ToAZeroTensorThereIsNoRatio) {
  const Relation relation = relation_of(Floats("float32", {0, 0}), Floats("float32", {1, 0}));

  EXPECT_TRUE(relation.comparable);
  EXPECT_TRUE(relation.reference_zero);
  EXPECT_FALSE(relation.zero);
  EXPECT_EQ(relation.ratio, 1);
  EXPECT_EQ(relation.residual, 0);
  EXPECT_FALSE(relation.is_multiple(1, 1e-5));
}

TEST(IsMultiple, WithinTheToleranceOfTheFactor) {
  Relation relation;
  EXPECT_FALSE(relation.is_multiple(1, 1e-5)) << "tensors that are not compared";
  relation.comparable = true;
  relation.ratio = 4;
  relation.residual = 3e-5;
  EXPECT_TRUE(relation.is_multiple(4, 1e-5));
  EXPECT_TRUE(relation.is_multiple(4.00003, 1e-5));
  EXPECT_FALSE(relation.is_multiple(4.5, 1e-5));
  EXPECT_FALSE(relation.is_multiple(3.5, 1e-5));
  relation.residual = 1;
  EXPECT_FALSE(relation.is_multiple(4, 1e-5));
  relation.residual = 0;
  relation.ratio = -4;
  EXPECT_TRUE(relation.is_multiple(-4, 1e-5));
}

std::vector<std::vector<std::int64_t>> buckets_of(const SafetensorsEntry& one, const SafetensorsEntry& other) {
  std::int64_t not_numbers = 7;  // from an earlier call
  std::vector<std::vector<std::int64_t>> buckets;
  for (const UlpBucket& bucket : ulp_buckets(one, other, not_numbers))
    buckets.push_back({bucket.from, bucket.to, bucket.elements});
  EXPECT_EQ(not_numbers, 0);
  return buckets;
}

TEST(UlpBucketsOf, HaveFirstAndLastDistance) {
  EXPECT_THAT(
      buckets_of(Floats("float32", {1, 1, 1}), Floats("float32", {1, of_bits(0x3f800001), of_bits(0x3f800005)})),
      ElementsAre(ElementsAre(0, 0, 1), ElementsAre(1, 1, 1), ElementsAre(4, 7, 1)));
  EXPECT_THAT(buckets_of(Shorts("bfloat16", {0x3f80}), Shorts("bfloat16", {0x3f83})),
              ElementsAre(ElementsAre(2, 3, 1)));
}

TEST(UlpBucketsOf, GoThroughZero) {
  EXPECT_THAT(buckets_of(Floats("float32", {of_bits(0x80000001)}), Floats("float32", {of_bits(0x00000001)})),
              ElementsAre(ElementsAre(2, 3, 1)));
  EXPECT_THAT(buckets_of(Floats("float32", {-0.0F}), Floats("float32", {0})), ElementsAre(ElementsAre(0, 0, 1)));
}

TEST(UlpBucketsOf, AreOfEqualShapesAndDtypesOfTwoKindsAlone) {
  EXPECT_THAT(buckets_of(Floats("float32", {1, 2}, {1, 2}), Floats("float32", {1, 2}, {2, 1})), IsEmpty());
  EXPECT_THAT(buckets_of(Shorts("bfloat16", {1}), Shorts("float16", {1})), IsEmpty());
  EXPECT_THAT(buckets_of(Shorts("float16", {1}), Shorts("float16", {1})), IsEmpty());
  EXPECT_THAT(buckets_of(Made<double>("float64", {1}), Made<double>("float64", {1})), IsEmpty());
}

TEST(UlpBucketsOf, CountANanOfEitherApart) {
  std::int64_t not_numbers = 0;

  const auto buckets =
      ulp_buckets(Floats("float32", {quiet_nan, 1, 2}), Floats("float32", {1, quiet_nan, 2}), not_numbers);

  EXPECT_EQ(not_numbers, 2);
  EXPECT_EQ(buckets.size(), 1U);
}

TEST(FewElements, TellBitsAndDistance) {
  const Floats right("float32", {3, 1});

  const auto bit = few_elements("w", right, Floats("float32", {3, of_bits(0x3f800004)}));
  ASSERT_TRUE(bit);
  EXPECT_EQ(bit->name, "one_bit");
  EXPECT_EQ(bit->words, "w differs in a single bit");
  EXPECT_EQ(bit->evidence, "1 of 2 elements, 1 bit, 4 ULP or more");

  const auto next = few_elements("w", right, Floats("float32", {3, of_bits(0x3f7fffff)}));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->name, "one_element");
  EXPECT_EQ(next->words, "w differs in a single element");
  EXPECT_EQ(next->evidence, "1 of 2 elements, 24 bits, 1 ULP");
}

TEST(FewElements, AreOneOfSeveral) {
  EXPECT_FALSE(few_elements("w", Floats("float32", {1}), Floats("float32", {2})));
  EXPECT_FALSE(few_elements("w", Floats("float32", {1, 2}), Floats("float32", {2, 1})));
  EXPECT_FALSE(few_elements("w", Floats("float32", {1, 2}), Floats("float32", {1, 2})));
  EXPECT_FALSE(few_elements("w", Floats("float32", {1, 2}, {1, 2}), Floats("float32", {1, 3}, {2, 1})));
}

TEST(Rounding, IsOfTwoElementsAtLeast) {
  const Floats right("float32", {1, 1, 1});
  const auto of = [&](const Floats& got) { return rounding("w", relation_of(right, got), 1e-5); };
  const float next = of_bits(0x3f800001);

  EXPECT_FALSE(of({"float32", {1, 1, 1}}));
  EXPECT_FALSE(of({"float32", {next, 1, 1}}));
  EXPECT_FALSE(of({"float32", {next, 1.1F, 1}}));
  const auto found = of({"float32", {next, next, 1}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->words, "w differs from the reference's by rounding alone");
  EXPECT_THAT(found->evidence, EndsWith(", 2 of 3 elements"));
}

// For a run of 4 microbatches and 24 valid tokens.
TEST(CausesOfAFactor, AreThoseThatFit) {
  StepFacts facts;
  facts.microbatches = 4;
  facts.valid_tokens = 24;
  const std::vector<std::pair<double, std::string>> expected = {
      {4, "not_scaled"},      {4.0003, "not_scaled"},
      {4.0006, "scaled"},     {24, "not_normalised_by_tokens"},
      {0.25, "scaled_twice"}, {1.0 / 24, "normalised_twice"},
      {96, "scaled"},         {2, "counted_twice"},
      {-1, "scaled"},         {0.5, "scaled"}};
  for (const auto& [factor, name] : expected) {
    const auto causes = causes_of_factor(factor, 1e-4, facts);
    ASSERT_EQ(causes.size(), 1U) << factor;
    EXPECT_EQ(causes[0].name, name) << factor;
  }
}

// A single microbatch or token explains no factor close to 1; a step may have no valid token, or no row in the
// reference.
TEST(CausesOfAFactor, OfOneMicrobatchOrNoTokenThereIsNone) {
  for (const auto& [microbatches, tokens, factor] : {std::tuple(1, 1, 1.00005), {4, 0, 8.0}}) {
    StepFacts facts;
    facts.microbatches = microbatches;
    facts.valid_tokens = tokens;

    const auto causes = causes_of_factor(factor, 1e-4, facts);

    ASSERT_EQ(causes.size(), 1U);
    EXPECT_EQ(causes[0].name, "scaled");
  }
}

TEST(FactorText, HasFourDigitsOfAnySize) {
  EXPECT_EQ(factor_text(8), "8.0000");
  EXPECT_EQ(factor_text(-0.25), "-0.2500");
  EXPECT_EQ(factor_text(0.001234567), "0.001235");
  EXPECT_EQ(factor_text(1234567), "1.235e+06");
}

}  // namespace
}  // namespace plumbline::testing
