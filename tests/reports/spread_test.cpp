#include "reports/spread.hpp"

#include <gmock/gmock.h>

#include "reports/gradient_ratios.hpp"
#include "tests/reports/well_formed.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

TensorRow tensor(std::int64_t step, const std::string& kind, const std::string& name, const std::string& digest,
                 double l2 = 1) {
  TensorRow row;
  row.step = step;
  row.kind = kind;
  row.name = name;
  row.digest = digest;
  row.l2 = l2;
  return row;
}

BoundaryRow boundary(std::int64_t microbatch, const std::string& direction, const std::string& side,
                     const std::string& digest) {
  BoundaryRow row;
  row.microbatch = microbatch;
  row.direction = direction;
  row.cut = "layers.1";
  row.side = side;
  row.digest = digest;
  return row;
}

/// Two parameters over two steps, one cut with two microbatches.
Record alone() {
  Record record;
  record.ranks.resize(1);
  for (const std::int64_t step : {0, 1}) {
    for (const char* name : {"a", "b"}) {
      record.ranks[0].tensors.push_back(tensor(step, "gradient", name, "g", 2));
      record.ranks[0].tensors.push_back(tensor(step, "parameter", name, "p"));
    }
  }
  for (const std::int64_t microbatch : {0, 1}) {
    for (const char* direction : {"forward", "backward"})
      record.ranks[0].boundaries.push_back(boundary(microbatch, direction, "computed", "x"));
  }
  return record;
}

/// The same on two ranks: rank 0 has `a`, rank 1 has `b`.
Record pipelined() {
  Record record;
  record.ranks.resize(2);
  record.ranks[1].rank = 1;
  for (const std::int64_t step : {0, 1}) {
    for (const std::size_t rank : {0U, 1U}) {
      const char* name = rank == 0 ? "a" : "b";
      record.ranks[rank].tensors.push_back(tensor(step, "gradient", name, "g", 2));
      record.ranks[rank].tensors.push_back(tensor(step, "parameter", name, "p"));
    }
  }
  for (const std::int64_t microbatch : {0, 1}) {
    record.ranks[0].boundaries.push_back(boundary(microbatch, "forward", "send", "x"));
    record.ranks[1].boundaries.push_back(boundary(microbatch, "forward", "receive", "x"));
  }
  return record;
}

TEST(Spread, OfEqualRecordsThereIsNone) {
  const Spread spread = spread_of(alone(), pipelined());

  EXPECT_TRUE(spread.nothing());
  EXPECT_EQ(spread.equal_rows, 4) << "the cut on both ranks, a, b";
}

TEST(Spread, ShowsWhereItBeginsAndOnWhichRankItGoesOn) {
  Record candidate = pipelined();
  candidate.ranks[1].boundaries[1].digest = "other";  // microbatch 1, received
  candidate.ranks[1].tensors[0].digest = "other";     // gradient of b in step 0
  candidate.ranks[1].tensors[3].digest = "other";     // parameter b after step 1

  const Spread spread = spread_of(alone(), candidate);

  ASSERT_EQ(spread.rows.size(), 2U);
  EXPECT_EQ(spread.equal_rows, 2);
  EXPECT_EQ(spread.rows[0].rank, 1);
  EXPECT_EQ(spread.rows[0].tensor, "cut layers.1");
  EXPECT_EQ(spread.rows[0].steps.at(0).first.compared, 2);
  EXPECT_EQ(spread.rows[0].steps.at(0).first.differing, 1);
  EXPECT_EQ(spread.rows[1].tensor, "b");
  EXPECT_EQ(spread.rows[1].steps.at(0).first.differing, 1) << "the gradient";
  EXPECT_EQ(spread.rows[1].steps.at(0).second.differing, 0) << "the parameter";
  EXPECT_EQ(spread.rows[1].steps.at(1).second.differing, 1);
  const std::string drawn = draw_spread(spread, "<spread>");
  EXPECT_EQ(testing::parse_markup(drawn, false).error, "");
  EXPECT_THAT(drawn, HasSubstr("forward: 1 of 2 differ"));
  EXPECT_THAT(drawn, HasSubstr("rank 1  b"));
}

TEST(Spread, WhatTheReferenceDoesNotTellIsNotCompared) {
  Record reference = alone(), candidate = pipelined();
  candidate.ranks[0].tensors.push_back(tensor(0, "gradient", "unknown", "z"));
  reference.ranks[0].boundaries.push_back(boundary(0, "forward", "send", "z"));  // not what it computed

  EXPECT_TRUE(spread_of(reference, candidate).nothing());
}

TEST(Spread, DirectionsAndMicrobatchesAreHeldApart) {
  Record reference = alone(), candidate = pipelined();
  reference.ranks[0].boundaries[2].digest = "y";  // microbatch 1, forward
  for (auto& rank : candidate.ranks) rank.boundaries[1].digest = "y";
  EXPECT_TRUE(spread_of(reference, candidate).nothing());

  candidate.ranks[0].boundaries.push_back(boundary(0, "backward", "receive", "other"));
  const Spread spread = spread_of(reference, candidate);
  ASSERT_EQ(spread.rows.size(), 1U);
  EXPECT_EQ(spread.rows[0].steps.at(0).first.differing, 0);
  EXPECT_EQ(spread.rows[0].steps.at(0).second.differing, 1);
}

TEST(Spread, WhatDiffersBeforeTheFirstStepIsTheStart) {
  Record reference = alone(), candidate = pipelined();
  reference.ranks[0].tensors.push_back(tensor(-1, "parameter", "a", "p"));
  candidate.ranks[0].tensors.push_back(tensor(-1, "parameter", "a", "q"));

  EXPECT_THAT(draw_spread(spread_of(reference, candidate), "t"), HasSubstr(">start</text>"));
}

TEST(Spread, OfManyTensorsTheRestIsCounted) {
  Record one = alone(), other = pipelined();
  for (int i = 0; i < 100; ++i) {
    one.ranks[0].tensors.push_back(tensor(0, "gradient", "w" + std::to_string(i), "g"));
    other.ranks[0].tensors.push_back(tensor(0, "gradient", "w" + std::to_string(i), "h"));
  }

  EXPECT_THAT(draw_spread(spread_of(one, other), "t"), HasSubstr("and 40 more that differ"));
}

TEST(Spread, ASquareIsAsDarkAsItsShareAndEmptyWhereNothingDiffers) {
  Spread spread;
  spread.rows = {{2, "w", false, {{0, {{4, 1}, {4, 0}}}}}};

  const std::string drawn = draw_spread(spread, "t");

  EXPECT_THAT(drawn, HasSubstr("fill-opacity=\"0.51\"><title>gradient: 1 of 4 differ</title>")) << "0.35 + 0.65 / 4";
  EXPECT_THAT(drawn, HasSubstr("fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.3\"/>"));
  EXPECT_EQ(drawn.find("0 of 4"), std::string::npos);
  EXPECT_THAT(drawn, HasSubstr(">rank 2  w</text>"));
}

TEST(Spread, StepsAreDrawnFromTheFirstThatDiffersOn) {
  Spread spread;
  SpreadRow row{0, "w", false, {}};
  for (std::int64_t step = 0; step < 40; ++step) row.steps[step] = {{1, step < 20 ? 0 : 1}, {1, 0}};
  spread.rows = {row};

  const std::string drawn = draw_spread(spread, "t");

  EXPECT_EQ(drawn.find(">step 19</text>"), std::string::npos);
  EXPECT_THAT(drawn, HasSubstr(">step 20</text>"));
  EXPECT_THAT(drawn, HasSubstr(">step 31</text>"));
  EXPECT_EQ(drawn.find(">step 32</text>"), std::string::npos) << "twelve of them";
}

TEST(GradientRatios, BothEndsOfTheRangeAreDrawnAtTheirPowersOfTwo) {
  const std::string drawn = draw_gradient_ratios({{"run", {2, {{"w", 0.5, 2}}}}}, "t");

  // From 2^-1.5 to 2^1.5 over 200 pixels upwards from 216.
  EXPECT_THAT(drawn, HasSubstr("M515 182.67m")) << "1/2";
  EXPECT_THAT(drawn, HasSubstr("M515 49.33m")) << "2";
  EXPECT_THAT(drawn, HasSubstr("<line x1=\"70\" y1=\"116\" x2=\"960\" y2=\"116\"")) << "1 is right";
  for (const char* tick : {">0.5</text>", ">1</text>", ">2</text>"}) EXPECT_THAT(drawn, HasSubstr(tick));
}

TEST(GradientRatios, AreOneWhereNormsAreEqual) {
  const GradientRatios ratios = gradient_ratios(alone(), pipelined());

  EXPECT_EQ(ratios.compared, 4);
  EXPECT_TRUE(ratios.all_one());
}

TEST(GradientRatios, KeepTheirRangeAndLeaveOutWhatHasNone) {
  Record reference = alone(), candidate = pipelined();
  candidate.ranks[0].tensors[0].l2 = 16;                                        // a, step 0: 8 x
  candidate.ranks[1].tensors[2].l2 = std::numeric_limits<double>::quiet_NaN();  // b, step 1
  candidate.ranks[1].tensors.push_back(tensor(0, "gradient", "unknown", "g", 3));

  const GradientRatios ratios = gradient_ratios(reference, candidate);

  EXPECT_EQ(ratios.compared, 3);
  ASSERT_EQ(ratios.parameters.size(), 2U);
  EXPECT_EQ(ratios.parameters[0].low, 1);
  EXPECT_EQ(ratios.parameters[0].high, 8);
  EXPECT_FALSE(ratios.all_one());
  const std::string drawn = draw_gradient_ratios({{"1f1b, P = 2", ratios}}, "t");
  EXPECT_EQ(testing::parse_markup(drawn, false).error, "");
  EXPECT_THAT(drawn, HasSubstr(">8</text>")) << "a tick at the ratio";
}

TEST(GradientRatios, OfAReferenceWithoutAGradientThereIsNone) {
  Record reference = alone(), candidate = pipelined();
  reference.ranks[0].tensors[0].l2 = 0;  // a, step 0
  candidate.ranks[0].tensors[2].l2 = 8;  // a, step 1

  const GradientRatios ratios = gradient_ratios(reference, candidate);

  EXPECT_EQ(ratios.compared, 3);
  EXPECT_EQ(ratios.parameters[0].low, 4);
  reference.ranks[0].tensors[0].l2 = 2;
  const GradientRatios all = gradient_ratios(reference, candidate);
  EXPECT_EQ(all.parameters[0].low, 1);
  EXPECT_EQ(all.parameters[0].high, 4) << "in a later step";
}

TEST(GradientRatios, OfZeroAndOfHugeStayInThePicture) {
  const std::string drawn = draw_gradient_ratios({{"run", {2, {{"a", 0, 0}, {"b", 1, 1e300}}}}}, "t");

  EXPECT_EQ(drawn.find("inf"), std::string::npos);
  EXPECT_EQ(drawn.find("nan"), std::string::npos);
  EXPECT_EQ(testing::parse_markup(drawn, false).error, "");
}

}  // namespace
}  // namespace plumbline
