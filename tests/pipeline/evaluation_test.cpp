// SPDX-License-Identifier: BSD-3-Clause
// Evaluations under every kind of placement: the losses of one device, and no effect on the training.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/paths.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

class EvaluationParity : public ::testing::TestWithParam<WorldAndSchedule> {};

INSTANTIATE_TEST_SUITE_P(, EvaluationParity,
                         ::testing::Values(WorldAndSchedule{1, "afab"}, WorldAndSchedule{3, "1f1b"},
                                           WorldAndSchedule{2, "interleaved-1f1b"}, WorldAndSchedule{2, "zb-v"},
                                           WorldAndSchedule{8, "1f1b"}),
                         name_of);

TEST_P(EvaluationParity, MatchesOneDeviceAndDoesNotAffectTheTraining) {
  const auto& [world, schedule] = GetParam();
  const testing::TemporaryFolder folder;
  const fs::path run =
      folder.file("run.toml", testing::run_text("validation = \"" + testing::fixtures_path() +
                                                    "/corpus/\"\nlengths = [16, 9, [16, 5], 1]\nbatch = 2\n"
                                                    "masked = [1]\n[evaluate]\nevery = 1\nmicrobatches = 3\n",
                                                "steps = 2\nlearning_rate = 1e-3\nclip_norm = 3.7\n"));
  train_reference(reference_options(run, folder.path() / "reference"));

  ASSERT_EQ(train_pipeline(options(run, folder.path() / "pipeline", world, schedule)), 0);

  const Record one = read_record(folder.path() / "reference"), other = read_record(folder.path() / "pipeline");
  expect_same_bits(one, other);
  ASSERT_EQ(one.ranks.front().evaluation.size(), 8U) << "two evaluations, each of three microbatches and their sum";
  std::size_t evaluated = 0;
  for (const RankRecord& rank : other.ranks) {
    if (rank.evaluation.empty()) continue;
    evaluated = rank.evaluation.size();
    for (std::size_t i = 0; i < std::min<std::size_t>(evaluated, 8); ++i) {
      const auto &got = rank.evaluation[i], &want = one.ranks.front().evaluation[i];
      EXPECT_EQ(got.step, want.step);
      EXPECT_EQ(got.microbatch, want.microbatch);
      EXPECT_EQ(got.loss, want.loss);
    }
  }
  EXPECT_EQ(evaluated, 8U);
  expect_judged(GetParam(), one.path, other.path, {"evaluation"});
}

}  // namespace
}  // namespace plumbline
