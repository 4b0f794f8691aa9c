// SPDX-License-Identifier: BSD-3-Clause
// The run files of fixtures/ must be runnable, and must reveal a swap of microbatches.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "tests/paths.hpp"
#include "training/run.hpp"
#include "training/tokens.hpp"

namespace plumbline {
namespace {

const std::filesystem::path fixtures = testing::fixtures_path();

std::vector<std::filesystem::path> run_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(fixtures / "runs")) {
    if (entry.path().extension() == ".toml" && std::filesystem::is_regular_file(entry)) files.push_back(entry.path());
  }
  return files;
}

TEST(RunFixtures, LoadWithTheirModelAndText) {
  const auto files = run_files();

  EXPECT_GE(files.size(), 8U);
  for (const auto& file : files) EXPECT_NO_THROW(load_run(file, std::nullopt)) << file;
}

TEST(RunFixtures, NeverHoldTwoEqualMicrobatches) {
  for (const auto& file : run_files()) {
    const auto run = load_run(file, std::nullopt);
    for (std::int64_t step = 0; step < run.train.steps; ++step) {
      EXPECT_TRUE(run.batches.equal_microbatches(step).empty()) << file << " step " << step;
    }
  }
}

TEST(RunFixtures, OfTheDefaultSweepVaryTheirMicrobatches) {
  for (const char* name : {"stories260k-adamw", "stories260k-sgd", "untied128-adamw", "untied128-sgd"}) {
    const auto run = load_run(fixtures / "runs" / (std::string(name) + ".toml"), std::nullopt);
    const BatchPlan& plan = run.batches;
    bool grows = false, shrinks = false, repeats = false, single = false, masked = false, unequal_rows = false;
    for (std::int64_t m = 0; m < plan.microbatches(); ++m) {
      if (m > 0) {
        grows = grows || plan.sequence_length(m) > plan.sequence_length(m - 1);
        shrinks = shrinks || plan.sequence_length(m) < plan.sequence_length(m - 1);
      }
      for (std::int64_t earlier = 0; earlier < m; ++earlier) {
        repeats = repeats || plan.sequence_length(earlier) == plan.sequence_length(m);
      }
      single = single || plan.sequence_length(m) == 1;
      masked = masked || plan.valid_tokens(0, m) == 0;
      unequal_rows = unequal_rows || plan.tokens(m) < plan.batch(m) * plan.sequence_length(m);
    }

    EXPECT_EQ(plan.microbatches(), 8) << name;
    EXPECT_TRUE(grows && shrinks && repeats && single && masked && unequal_rows) << name;
    EXPECT_EQ(run.train.steps, 5) << name;
    EXPECT_LT(run.train.warmup_steps, run.train.steps) << name;
    EXPECT_TRUE(run.train.clip_norm.has_value()) << name;
  }
}

TEST(Corpus, IsLongEnoughNotToRepeatWithinARun) {
  const auto run = load_run(fixtures / "runs" / "stories260k-adamw.toml", std::nullopt);

  const auto tokens = load_tokens(run.file.data, 256).size();

  EXPECT_GE(tokens, 40000);
  EXPECT_GT(tokens, run.train.steps * run.batches.step_tokens());
}

}  // namespace
}  // namespace plumbline
