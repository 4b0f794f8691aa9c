// SPDX-License-Identifier: BSD-3-Clause
// From the run file to a transport's settings, and a record's description before any rank trains.
#include "pipeline/job.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "record/manifest.hpp"
#include "support/json.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

NcclSettings settings_with(const std::string& more) {
  const testing::TemporaryFolder folder;
  return nccl_settings(
      load_run(folder.file("run.toml", testing::run_text("lengths = [9]\n", "steps = 1\n" + more)), {}));
}

TEST(NcclSettings, TakeMultiprocessorsFromTheRunFile) {
  EXPECT_EQ(settings_with("").max_ctas, 4);
  EXPECT_EQ(settings_with("[pipeline]\nmax_ctas = 7\n").max_ctas, 7);
}

TEST(NcclSettings, RunAheadUnlessTheRecordHasDigestsOfBoundaryTensors) {
  EXPECT_EQ(settings_with("[record]\nlevel = \"full\"\n").run_ahead, 0);
  EXPECT_EQ(settings_with("[record]\nlevel = \"summary\"\n").run_ahead, 2);
  EXPECT_EQ(settings_with("[record]\nlevel = \"none\"\n").run_ahead, 2);
}

using ::testing::ElementsAre;
using ::testing::StartsWith;

class JobRecord : public ::testing::Test {
 protected:
  JobRecord() {
    options_.record = folder_ / "r";
    options_.command = {"plumbline-pipeline", "quick.toml"};
    options_.progress = false;
  }

  testing::TemporaryFolder folder_;
  PipelineOptions options_;
  plumbline::Run run_ = load_run(testing::fixtures_path() + "/runs/quick.toml", std::nullopt);
};

TEST_F(JobRecord, PrintsScheduleNotesUnlessQuiet) {
  PipelinePlan plan;
  plan.schedule.name = "mine.csv";
  plan.notes = {"2 UNSHARD are left out", "REDUCE_GRAD is left out"};
  const auto said = [&](bool progress) {
    options_.progress = progress;
    ::testing::internal::CaptureStderr();
    claim_record(options_, plan);
    return ::testing::internal::GetCapturedStderr();
  };

  EXPECT_EQ(said(true),
            "plumbline-pipeline: note: mine.csv: 2 UNSHARD are left out\n"
            "plumbline-pipeline: note: mine.csv: REDUCE_GRAD is left out\n");
  EXPECT_EQ(said(false), "");
}

// In a V of two ranks with two chunks each, rank 0 has the first and last stage, rank 1 the two between.
TEST_F(JobRecord, ManifestAssignsUnitsToRanks) {
  run_.pipeline.schedule = "zb-v";
  run_.pipeline.partition = "balance";
  run_.pipeline.balance = {2, 1, 1, 1};
  const PipelinePlan plan = make_plan(run_, 2);
  claim_record(options_, plan);

  begin_record(options_, run_, plan, {std::nullopt, {{"mpi", "Some MPI 4.1"}}, 250});

  const Manifest manifest = read_manifest(options_.record);
  EXPECT_EQ(manifest.role, "pipeline");
  EXPECT_EQ(manifest.world_size, 2);
  EXPECT_EQ(manifest.chunks_per_rank, 2);
  std::vector<std::int64_t> ranks;
  std::vector<std::vector<std::string>> units;
  for (const StageEntry& stage : manifest.stages) {
    ranks.push_back(stage.rank);
    units.push_back(stage.units);
  }
  EXPECT_THAT(ranks, ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(units, ElementsAre(ElementsAre("embed_tokens", "layers.0", "layers.1"), ElementsAre("layers.2"),
                                 ElementsAre("layers.3"), ElementsAre("layers.4", "norm", "lm_head")));
  EXPECT_EQ(manifest.json.at("command"), Json(options_.command));
  EXPECT_EQ(manifest.json.at("versions").at("mpi"), "Some MPI 4.1");
  EXPECT_TRUE(manifest.json.at("versions").contains("libtorch")) << "in addition to those of every trainer";
  EXPECT_EQ(manifest.json.at("clock_skew_ns"), 250);
}

TEST_F(JobRecord, ListsTheSummationOrderFromTheFirstStage) {
  const auto file =
      folder_.file("last-first.csv", "0F0,0F1,0F2,0F3,0B3,0B2,0B1,0B0\n1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3\n");
  run_.pipeline.schedule = file.string();
  const PipelinePlan plan = make_plan(run_, 2);
  claim_record(options_, plan);

  begin_record(options_, run_, plan, {});

  EXPECT_THAT(testing::bytes_of(options_.record / "accumulation.csv"),
              StartsWith("unit,microbatch\nembed_tokens,3\nembed_tokens,2\nembed_tokens,1\nembed_tokens,0\n"));
}

}  // namespace
}  // namespace plumbline
