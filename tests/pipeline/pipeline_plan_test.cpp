// SPDX-License-Identifier: BSD-3-Clause
// From the pipeline settings of a run file to stages and lists.
#include "pipeline/pipeline_plan.hpp"

#include <gmock/gmock.h>

#include <string>

#include "support/error.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

plumbline::Run training_with(const testing::TemporaryFolder& folder, const std::string& pipeline,
                             const std::string& lengths = "[9, 4, 6, 5]") {
  return load_run(folder.file("run.toml", testing::run_text("batch = 3\nlengths = " + lengths + "\n",
                                                            "steps = 1\n[pipeline]\n" + pipeline)),
                  {});
}

TEST(PipelinePlan, HasAsManyChunksAsTheRunFileSays) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(make_plan(training_with(folder, "schedule = \"interleaved-1f1b\"\n"), 2).stages.size(), 4U);
  EXPECT_EQ(make_plan(training_with(folder, "schedule = \"interleaved-1f1b\"\nchunks = 3\n"), 2).stages.size(), 6U);
}

TEST(PipelinePlan, NotesWhatWasOmitted) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.file("mine.csv", "0UNSHARD,0F0,0B0\n1F0,1B0\n").string();
  const std::string pipeline = "schedule = \"" + file + "\"\n";
  EXPECT_THAT(make_plan(training_with(folder, pipeline, "[9]"), 2).notes, ElementsAre(StartsWith("1 UNSHARD ignored")));
}

TEST(PipelinePlan, AnErrorNamesTheRunFile) {
  const testing::TemporaryFolder folder;
  const plumbline::Run run = training_with(folder, "balance = [1, 1]\n");
  EXPECT_THAT(testing::error_of<InputError>([&] { make_plan(run, 2); }),
              AllOf(StartsWith((folder / "run.toml").string() + ": "), HasSubstr("adds up to 2 layers")));
}

}  // namespace
}  // namespace plumbline
