// SPDX-License-Identifier: BSD-3-Clause
// Which records are of the same run, which of a calibration's training, and which used the same kernels.
#include <gmock/gmock.h>

#include "harness/judge/comparability.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/manifests.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Two records of two ranks whose times differ; tests make some of them equal.
class SameRun : public ::testing::Test {
 protected:
  SameRun() {
    for (Record* record : {&one_, &other_}) {
      record->path = folder_ / (record == &one_ ? "one" : "other");
      for (std::int64_t rank = 0; rank < 2; ++rank) {
        record->ranks.emplace_back().rank = rank;
        make_folder(record->path / ("rank-" + std::to_string(rank)));
        for (const char* file : {"steps.csv", "actions.csv"})
          put(*record, rank, file, "step\n" + record->path.filename().string() + "\n");
      }
    }
  }

  static void put(const Record& record, std::int64_t rank, const std::string& file, const std::string& bytes) {
    write_file(record.path / ("rank-" + std::to_string(rank)) / file, bytes);
  }
  void put_both(std::int64_t rank, const std::string& file, const std::string& bytes) {
    put(one_, rank, file, bytes);
    put(other_, rank, file, bytes);
  }
  std::vector<std::string> why() const { return why_the_same_run(one_, other_); }

  TemporaryFolder folder_;
  Record one_ = reference_manifest(), other_ = candidate_manifest();
  const std::string copy_of_rank_1_ =
      "rank-1/steps.csv and actions.csv are byte-equal in both records, times included: one is a copy";
};

TEST_F(SameRun, DifferentTimesAreDifferentRuns) {
  EXPECT_THAT(why(), IsEmpty());
}

TEST_F(SameRun, EqualRunIdsAreOneRun) {
  other_.manifest.run_id = one_.manifest.run_id = "id";
  EXPECT_THAT(why(), ElementsAre("both records are of the same run (run id id): give two different runs"));
}

TEST_F(SameRun, TwoEqualTablesOfOneRankShowACopy) {
  put_both(1, "steps.csv", "step\n1\n");
  EXPECT_THAT(why(), IsEmpty()) << "equal steps are not enough: at level summary they have no times";
  put_both(1, "actions.csv", "step\n1\n");
  EXPECT_THAT(why(), ElementsAre(copy_of_rank_1_));
  put(other_, 1, "steps.csv", "step\n2\n");
  EXPECT_THAT(why(), IsEmpty()) << "equal actions are not enough";
}

TEST_F(SameRun, EmptyTablesShowNothing) {
  for (const char* header : {"step\n", "step"}) {
    for (const char* file : {"steps.csv", "actions.csv"}) put_both(1, file, header);
    EXPECT_THAT(why(), IsEmpty());
  }
}

TEST_F(SameRun, MissingTablesShowNothing) {
  put_both(1, "steps.csv", "step\n1\n");
  for (const Record* record : {&one_, &other_}) std::filesystem::remove(record->path / "rank-1/actions.csv");
  EXPECT_THAT(why(), IsEmpty());

  put(one_, 1, "actions.csv", "step\n1\n");
  EXPECT_THAT(why(), IsEmpty());
}

TEST_F(SameRun, FindsADifferenceFarDownATable) {
  put_both(1, "steps.csv", "step\n1\n");
  const std::string rows = "step\n" + std::string(std::size_t{3} << 16, '1') + "\n";
  put_both(1, "actions.csv", rows + "2\n");
  EXPECT_THAT(why(), ElementsAre(copy_of_rank_1_));

  put(other_, 1, "actions.csv", rows + "3\n");
  EXPECT_THAT(why(), IsEmpty());
  put(other_, 1, "actions.csv", rows + "2\n4\n");
  EXPECT_THAT(why(), IsEmpty()) << "longer";
}

TEST(CalibratedTraining, MatchesTheFloat64ReferenceInTheRunsDtype) {
  const Manifest shadow = reference_manifest({{"dtype", "float64"}, {"shadow_of", "bfloat16"}}).manifest;

  EXPECT_THAT(why_not_calibrated(shadow, reference_manifest({{"dtype", "bfloat16"}}).manifest), IsEmpty());
  EXPECT_THAT(why_not_calibrated(shadow, reference_manifest({{"dtype", "float64"}}).manifest),
              ElementsAre("dtype is bfloat16 in the calibration and float64 in the reference"));
  EXPECT_THAT(why_not_calibrated(shadow, reference_manifest({{"dtype", "bfloat16"}, {"seed", 2}}).manifest),
              ElementsAre("seed is 1 in the calibration and 2 in the reference"));
}

TEST(CalibratedTraining, ARunThatIsNotAFloat64ReferenceIsReported) {
  EXPECT_THAT(why_not_calibrated(reference_manifest().manifest, reference_manifest().manifest),
              ElementsAre("dtype is absent in the calibration and float32 in the reference"));
  EXPECT_THAT(why_not_calibrated(reference_manifest({{"shadow_of", 7}}).manifest, reference_manifest().manifest),
              ElementsAre("dtype is absent in the calibration and float32 in the reference"));
}

TEST(CalibratedTraining, HasTheRatesOfTheSameSteps) {
  const auto with_rates = [](const std::vector<std::optional<double>>& rates, std::int64_t first) {
    Record record = reference_manifest();
    record.ranks.emplace_back();
    for (const auto& rate : rates) {
      StepRow row{};
      row.step = first++;
      row.learning_rate = rate;
      record.ranks[0].steps.push_back(row);
    }
    return record;
  };

  EXPECT_THAT(why_other_rates(with_rates({0.5, 0.25}, 3), with_rates({0.5, 0.25}, 3)), IsEmpty());
  EXPECT_THAT(why_other_rates(with_rates({0.5, 0.25}, 3), with_rates({0.5, 0.75}, 3)),
              ElementsAre("learning rate of step 4 is 0.25 in the calibration and 0.75 in the reference"));
  EXPECT_THAT(why_other_rates(with_rates({0.5, 0.25}, 3), with_rates({0.25}, 4)), IsEmpty()) << "both are of step 4";
  EXPECT_THAT(why_other_rates(with_rates({0.5}, 3), with_rates({{}}, 3)),
              ElementsAre("learning rate of step 3 is 0.5 in the calibration and nan in the reference"));
  EXPECT_THAT(why_other_rates(with_rates({{}}, 3), with_rates({{}}, 3)), IsEmpty());
}

class OtherKernels : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(OtherKernels, AreReportedByTheFirstDifferentKey) {
  const auto& [table, key] = GetParam();
  const auto of = [&](const Json& value) { return reference_manifest({{table, {{"x", 1}, {key, value}}}}).manifest; };

  EXPECT_EQ(why_other_kernels(of("a"), of("b")), std::string(key) + " \"a\" against \"b\"");
  EXPECT_EQ(why_other_kernels(of("a"), of(nullptr)), std::string(key) + " \"a\" against null");
  EXPECT_EQ(why_other_kernels(of("a"), of("a")), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(
    Each, OtherKernels,
    ::testing::Values(std::pair{"machine", "cpu_vendor"}, std::pair{"machine", "cpu_family"},
                      std::pair{"machine", "cpu_model_number"}, std::pair{"machine", "aten_capability"},
                      std::pair{"machine", "bf16_instructions"}, std::pair{"machine", "gpus"},
                      std::pair{"environment", "ATEN_CPU_CAPABILITY"}, std::pair{"environment", "ONEDNN_MAX_CPU_ISA"},
                      std::pair{"environment", "MKL_ENABLE_INSTRUCTIONS"}, std::pair{"environment", "MKL_CBWR"}),
    [](const auto& tested) { return tested.param.second; });

TEST(OtherKernelsOf, AnotherDeviceAreReported) {
  EXPECT_EQ(why_other_kernels(reference_manifest().manifest, reference_manifest({{"device", "cuda:1"}}).manifest),
            "device cpu against cuda:1");
  EXPECT_EQ(why_other_kernels(reference_manifest({{"device", "cuda:0"}}).manifest,
                              reference_manifest({{"device", "cuda:1"}}).manifest),
            std::nullopt);
}

TEST(OtherKernelsOf, AnUnknownMachineAreNotReported) {
  const Manifest known = reference_manifest({{"machine", {{"cpu_vendor", "a"}}}}).manifest;
  for (const Json& patch : {Json::object(), Json{{"machine", Json::object()}}}) {
    EXPECT_EQ(why_other_kernels(known, reference_manifest(patch).manifest), std::nullopt);
    EXPECT_EQ(why_other_kernels(reference_manifest(patch).manifest, known), std::nullopt);
  }
  const Json environment = {{"environment", {{"MKL_CBWR", "b"}}}};
  Json both = environment;
  both["machine"] = {{"cpu_vendor", "a"}};
  both["environment"]["MKL_CBWR"] = "c";
  EXPECT_EQ(why_other_kernels(reference_manifest(environment).manifest, reference_manifest(both).manifest),
            "MKL_CBWR \"b\" against \"c\"")
      << "the next table is still compared";
}

TEST(SeveralGpuModels, AreMoreThanOneInTheList) {
  const auto with = [](const Json& machine) { return reference_manifest({{"machine", machine}}).manifest; };

  EXPECT_TRUE(several_gpu_models(with({{"gpus", {"A100", "H100"}}})));
  EXPECT_FALSE(several_gpu_models(with({{"gpus", {"A100"}}})));
  EXPECT_FALSE(several_gpu_models(with({{"gpus", "A100, H100"}})));
  EXPECT_FALSE(several_gpu_models(with(Json::object())));
  EXPECT_FALSE(several_gpu_models(reference_manifest().manifest));
}

}  // namespace
}  // namespace plumbline::testing
