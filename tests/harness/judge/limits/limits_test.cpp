// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/limits/limits.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "harness/judge/limits/value_comparison.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::judging {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using Errors = std::map<Item, ItemError>;

const Item norm_weight{0, "gradient/model.norm.weight"};
const Item first_cut{0, "boundary/forward/2/layers.0"};
constexpr double u = 0x1p-24;

class Limits : public ::testing::Test {
 protected:
  static Calibration make(const Errors& own, const std::vector<Errors>& null) {
    return make_calibration(own, null, "float32");
  }
  static std::vector<Errors> twenty(const Errors& errors) { return std::vector(20, errors); }

  testing::TemporaryFolder folder_;
};

TEST_F(Limits, AreFourTimesTheLargestErrorOfReferenceAndPerturbedRuns) {
  const Errors own = {{norm_weight, {2 * u}}};
  auto null = twenty({{norm_weight, {1.5 * u}}});
  null[7][norm_weight].error = 3 * u;

  const Calibration calibration = make(own, null);

  const Limit& limit = calibration.limits.at(norm_weight);
  EXPECT_DOUBLE_EQ(calibration.left_out, 1.5) << "3 over the largest of the others, the reference's 2";
  EXPECT_DOUBLE_EQ(calibration.factor, 4) << "other kernels may round twice as much";
  EXPECT_DOUBLE_EQ(limit.limit, 12 * u);
  EXPECT_EQ(limit.by, LimitBy::null_runs);
  EXPECT_LE(limit.null_most / limit.limit, 0.5);
  EXPECT_THAT(limit_words(calibration, limit), HasSubstr("= 4 x 1.79e-07, the largest error of the reference and 20"));
}

TEST_F(Limits, GrowIfOnePerturbedRunHasAMuchLargerError) {
  auto null = twenty({{norm_weight, {1.5 * u}}});
  null[19][norm_weight].error = 9 * u;

  const Calibration calibration = make({{norm_weight, {2 * u}}}, null);

  EXPECT_DOUBLE_EQ(calibration.factor, 2 * 4.5);
  // With the limit of the other runs, 9 x 2 u, the distant run has margin 0.5.
  EXPECT_DOUBLE_EQ(9 * u / (calibration.factor * 2 * u), 0.5);
}

TEST_F(Limits, AreAtMostHalfTheErrorOfAMissingTensor) {
  const Errors far = {{first_cut, {0.2}}, {norm_weight, {0.7}}};

  const Calibration calibration = make(far, twenty(far));

  const Limit& limit = calibration.limits.at(first_cut);
  EXPECT_EQ(limit.by, LimitBy::ceiling);
  EXPECT_EQ(limit.limit, 0.5) << "not 4 x 0.2: a tensor of zeros has error 1 and must never pass";
  EXPECT_THAT(limit_words(calibration, limit), HasSubstr("0.5, half the error of a missing tensor, below 4 x 0.2"));
  EXPECT_GT(calibration.limits.at(norm_weight).null_most, calibration.limits.at(norm_weight).limit)
      << "an equivalent change may then exceed the limit, which calibrate reports";
}

TEST_F(Limits, AreAtLeastOneRounding) {
  const Errors exact = {{norm_weight, {0}}};

  const Limit limit = make(exact, twenty(exact)).limits.at(norm_weight);

  EXPECT_EQ(limit.by, LimitBy::rounding);
  EXPECT_DOUBLE_EQ(limit.limit, 4 * u);
}

TEST_F(Limits, AreZeroWhereTheFloat64ReferenceIsZero) {
  const Item masked{0, "loss/4"};
  const Errors own = {{masked, {0, true}}, {{0, "loss/3"}, {u}}};

  const Calibration calibration = make(own, twenty(own));

  EXPECT_EQ(calibration.limits.at(masked).limit, 0);
  EXPECT_EQ(calibration.limits.at(masked).by, LimitBy::zero);
}

TEST_F(Limits, PoolLossesOverMicrobatchesAndSteps) {
  const Item early{0, "loss/0"}, other{0, "loss/3"}, later{1, "loss/0"}, norm{1, "gradient_norm"};
  const Errors own = {{early, {0}}, {other, {3 * u}}, {later, {0}}, {norm, {0}}};

  const Calibration calibration = make(own, twenty(own));

  EXPECT_DOUBLE_EQ(calibration.limits.at(early).limit, 12 * u)
      << "its error is 0 by chance: the step's other loss has error 3 u";
  EXPECT_DOUBLE_EQ(calibration.limits.at(later).limit, 12 * u);
  EXPECT_DOUBLE_EQ(calibration.limits.at(norm).limit, 4 * u) << "norms are another kind";
}

TEST_F(Limits, PoolTheReferenceAndEachRunOverAllItemsOfAKind) {
  const Item first{0, "evaluation"}, second{0, "evaluation/1"}, norm{0, "gradient_norm"}, later{1, "gradient_norm"};
  const Errors zero = {{first, {0}}, {second, {0}}, {norm, {0}}, {later, {0}}};
  Errors own = zero;
  own[second].error = 3 * u;
  auto null = twenty(zero);
  null[7][norm].error = 1.5 * u;

  const Calibration calibration = make(own, null);

  EXPECT_DOUBLE_EQ(calibration.left_out, 1.5) << "run 7 of the norm, over one rounding";
  EXPECT_DOUBLE_EQ(calibration.limits.at(first).pooled, 3 * u);
  EXPECT_EQ(calibration.limits.at(first).own, 0);
  EXPECT_EQ(calibration.limits.at(second).own, 3 * u);
  EXPECT_DOUBLE_EQ(calibration.limits.at(later).pooled, 1.5 * u);
  EXPECT_EQ(calibration.limits.at(later).null_most, 0);
}

TEST_F(Limits, OfABfloat16RunUseFloat32RoundingsForLossesAndBfloat16ForTheRest) {
  const Errors exact = {{{0, "loss"}, {0}},         {{0, "loss/0"}, {0}},        {{0, "evaluation"}, {0}},
                        {{0, "evaluation/0"}, {0}}, {{0, "gradient_norm"}, {0}}, {norm_weight, {0}}};

  const Calibration calibration = make_calibration(exact, twenty(exact), "bfloat16");

  for (const auto& [item, limit] : calibration.limits) {
    const bool loss = item.name.starts_with("loss") || item.name.starts_with("evaluation");
    EXPECT_DOUBLE_EQ(limit.limit, loss ? 4 * u : 4 * 0x1p-8) << item.name;
  }
}

TEST_F(Limits, AreNotWidenedByNonZerosWhereTheReferenceIsZero) {
  const Item masked{0, "gradient/masked"};
  const Errors own = {{masked, {0, true}}};
  auto null = twenty(own);
  null[3][masked].error = 1e-3;

  const Calibration calibration = make(own, null);

  EXPECT_LE(calibration.left_out, 1);
  EXPECT_EQ(calibration.limits.at(masked).limit, 0);
}

TEST_F(Limits, LoosestLimitOfALossIsTheLargestOfAllLosses) {
  Calibration calibration;
  calibration.limits[{0, "loss/1"}].limit = 2;
  calibration.limits[{1, "loss"}].limit = 3;
  calibration.limits[{2, "loss/0"}].limit = 1;
  calibration.limits[{2, "evaluation"}].limit = 4;
  calibration.limits[{2, "gradient_norm"}].limit = 5;
  EXPECT_EQ(loosest_loss(calibration), 3);

  calibration.limits[{1, "loss/4"}].limit = 3.5;
  EXPECT_EQ(loosest_loss(calibration), 3.5);
}

TEST(MeasuredError, MarginIsItsShareOfTheLimit) {
  const auto margin = [](double error, double limit) { return Measured{"loss", error, limit, ""}.margin(); };
  EXPECT_EQ(margin(1, 4), 0.25);
  EXPECT_EQ(margin(0, 0), 0);
  EXPECT_EQ(margin(1e-300, 0), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(margin(std::nan(""), 0)));
  EXPECT_TRUE(std::isnan(margin(std::nan(""), 1)));
}

TEST_F(Limits, NeedTwentyRunsOfTheSameItems) {
  const Errors own = {{norm_weight, {u}}};
  auto null = twenty(own);
  null[3][{0, "gradient/another"}] = {u};

  EXPECT_THROW(make(own, std::vector(19, own)), InputError);
  EXPECT_THROW(make(own, null), InputError);
  EXPECT_THROW(make({}, twenty({})), InputError);
}

class CalibrationFile : public Limits {
 protected:
  std::filesystem::path write() {
    const Errors own = {{norm_weight, {2 * u}}, {{0, "loss/4"}, {0, true}}, {first_cut, {0.2}}};
    made_ = make(own, twenty(own));
    made_.reference_run_id = "one";
    made_.shadow_run_id = "two";
    made_.shadow = folder_ / "calibration" / "shadow";
    std::filesystem::create_directories(folder_ / "calibration");
    write_calibration(folder_ / "calibration" / "calibration.json", made_);
    return folder_ / "calibration" / "calibration.json";
  }
  std::string refusal(const std::function<void(Json&)>& change) {
    Json json = read_json(write());
    change(json);
    write_json(folder_ / "changed.json", json);
    return error_of<InputError>([&] { read_calibration(folder_ / "changed.json"); });
  }
  Calibration made_;
};

TEST_F(CalibrationFile, RoundTrips) {
  const Calibration read = read_calibration(write());

  EXPECT_EQ(read.shadow.lexically_normal(), made_.shadow);
  EXPECT_EQ(read.reference_run_id, "one");
  EXPECT_EQ(read.shadow_run_id, "two");
  EXPECT_EQ(read.left_out, made_.left_out);
  EXPECT_EQ(read.null_runs, 20);
  EXPECT_EQ(read.factor, made_.factor);
  ASSERT_EQ(read.limits.size(), made_.limits.size());
  for (const auto& [item, limit] : made_.limits) {
    EXPECT_EQ(read.limits.at(item).limit, limit.limit) << item.name;
    EXPECT_EQ(read.limits.at(item).by, limit.by) << item.name;
    EXPECT_EQ(read.limits.at(item).own, limit.own) << item.name;
    EXPECT_EQ(read.limits.at(item).null_most, limit.null_most) << item.name;
    EXPECT_EQ(read.limits.at(item).pooled, limit.pooled) << item.name;
  }
}

TEST_F(CalibrationFile, RefusesInconsistentNumbers) {
  const auto of_norm = [](Json& json) -> Json& {
    for (Json& each : json["limits"]) {
      if (each["item"] == norm_weight.name) return each;
    }
    throw std::logic_error("the norm's limit is not there");
  };
  const std::string named = "gradient/model.norm.weight of step 0: its ";

  EXPECT_THAT(
      refusal([&](Json& json) { of_norm(json)["limit"] = 9 * u; }),
      AllOf(HasSubstr("changed.json"), HasSubstr(named + "limit is 5.36e-07, but its own numbers give 4.77e-07")));
  EXPECT_THAT(refusal([&](Json& json) { of_norm(json)["limit"] = 7 * u; }), HasSubstr(named + "limit"))
      << "a tighter limit is refused too";
  EXPECT_THAT(refusal([&](Json& json) { of_norm(json)["pooled"] = 4 * u; }), HasSubstr(named + "pooled"));
  EXPECT_THAT(refusal([&](Json& json) { of_norm(json)["null"] = 4 * u; }), HasSubstr(named + "pooled"));
  EXPECT_THAT(refusal([&](Json& json) { of_norm(json)["by"] = "ceiling"; }),
              HasSubstr("of step 0: something else determines its limit"));
  EXPECT_THAT(refusal([&](Json& json) { json["factor"] = 40.0; }),
              HasSubstr("its factor is 40, but its left_out gives 4"));
}

TEST_F(CalibrationFile, PooledLossesUseTheLargestErrorSoFar) {
  const Errors own = {{{0, "loss/0"}, {u}}, {{1, "loss"}, {3 * u}}, {{2, "loss/0"}, {0}}, {{2, "gradient_norm"}, {u}}};
  Calibration pooled = make(own, twenty(own));
  pooled.shadow = folder_ / "shadow";
  write_calibration(folder_ / "pooled.json", pooled);

  EXPECT_EQ(read_calibration(folder_ / "pooled.json").limits.size(), 4U);
}

TEST_F(CalibrationFile, RefusesImpossibleFiles) {
  EXPECT_THAT(refusal([](Json& json) { json["schema"] = "plumbline-calibration/3"; }), HasSubstr("schema"));
  EXPECT_THAT(refusal([](Json& json) { json["schema"] = "plumbline-calibration/1"; }),
              AllOf(HasSubstr("changed.json"), HasSubstr("a cap"), HasSubstr("calibrate again")))
      << "from an earlier version of the harness";
  EXPECT_THAT(refusal([](Json& json) { json["limits"] = Json::array(); }), HasSubstr("nothing would be compared"));
  EXPECT_THAT(refusal([](Json& json) { json["limits"][0]["limit"] = 1.0; }), HasSubstr("its own numbers give"));
  EXPECT_THAT(refusal([](Json& json) { json["limits"][0]["limit"] = nullptr; }), HasSubstr("limit"));
  EXPECT_THAT(refusal([](Json& json) { json["limits"][0]["limit"] = -1.0; }), HasSubstr("limit"));
  EXPECT_THAT(refusal([](Json& json) { json["limits"][0]["own"] = -1e-9; }),
              HasSubstr("own: is not a number of 0 or more"));
  EXPECT_THAT(refusal([](Json& json) { json["left_out"] = -1e-9; }),
              HasSubstr("left_out: is not a number of 0 or more"));
  EXPECT_THAT(refusal([](Json& json) { json["limits"].push_back(json["limits"][0]); }), HasSubstr("twice"));
  EXPECT_THAT(refusal([](Json& json) { json["null_runs"] = 19; }), HasSubstr("null_runs"));
  EXPECT_THAT(refusal([](Json& json) { json.erase("factor"); }), HasSubstr("factor"));
}

}  // namespace
}  // namespace plumbline::judging
