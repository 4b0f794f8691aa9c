// SPDX-License-Identifier: BSD-3-Clause
// The loss on validation data: the same bits in the reference and in a pipeline of any number of ranks, on the data of
// the run file, without an effect on the training. Ranks are threads.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/launch.hpp"
#include "reference/trainer.hpp"
#include "support/error.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/checkpoint/checkpoint_file.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

/// Losses in metrics.csv, by step.
std::vector<std::string> metrics(const fs::path& folder, const std::string& name) {
  return column(folder / "metrics.csv", name);
}

class Evaluating : public ::testing::Test {
 protected:
  /// Additional lines of [model] and [train], and of [data] and the tables after it.
  std::string run_text(const std::string& data, const std::string& model = "", const std::string& train = "") const {
    return "[model]\nconfig = \"" + testing::fixtures_path() + "/models/stories260k/config.json\"\n" + model +
           "[train]\nlearning_rate = 1e-2\nclip_norm = 1.0\n" + (train.empty() ? "steps = 5\n" : train) +
           "[data]\nseed = 4\nbatch = 2\nmasked = [1]\nlengths = [9, 4, 6, 5]\n" + data;
  }
  const std::string trained_on = "text = \"" + testing::fixtures_path() + "/corpus/01-the-plumb-line.txt\"\n";
  const std::string evaluated = "validation = \"" + testing::fixtures_path() + "/corpus/02-the-river-survey.txt\"\n";

  /// Trains on this many ranks and saves at the end in `into`.
  int train(const std::string& run, int ranks, const fs::path& into, const std::string& schedule = "1f1b") {
    CheckpointOptions checkpoint;
    checkpoint.folder = into;
    return train_on(ranks, folder_.file("run.toml", run), checkpoint, schedule);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Evaluating, MatchesTheReferenceOnAnyNumberOfRanks) {
  const std::string run = run_text(trained_on + evaluated + "[evaluate]\nevery = 2\nmicrobatches = 6\n");
  train(run, reference_alone, folder_ / "reference");
  const std::vector<std::string> losses = metrics(folder_ / "reference", "evaluation_loss");
  ASSERT_EQ(losses.size(), 5U);
  EXPECT_THAT((std::vector{losses[0], losses[2]}), ElementsAre("", "")) << "every second step, and the last";
  for (const std::size_t step : {1U, 3U, 4U}) {
    EXPECT_GT(std::stod(losses[step]), 0.0);
    EXPECT_NE(losses[step], metrics(folder_ / "reference", "loss")[step]);
  }
  EXPECT_NE(losses[1], losses[3]);

  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (const char* schedule : {"1f1b", "zb-v", "interleaved-1f1b"}) {
      const fs::path into = folder_ / (schedule + std::to_string(ranks));
      ASSERT_EQ(train(run, ranks, into, schedule), 0);
      EXPECT_EQ(metrics(into, "evaluation_loss"), losses) << ranks << " ranks, " << schedule;
      EXPECT_EQ(metrics(into, "loss"), metrics(folder_ / "reference", "loss"));
    }
  }
}

TEST_F(Evaluating, ReplicasEvaluateAPartEachWithTheLossOfTheWhole) {
  std::string run = run_text(trained_on + evaluated + "[evaluate]\nevery = 2\nmicrobatches = 6\n");
  const std::string masked = "masked = [1]";
  run.replace(run.find(masked), masked.size(), "masked = [1, 2]");  // then both orders of adding have the same bits
  train(run, reference_alone, folder_ / "reference");
  const std::string replicas = run + "[pipeline]\nreplicas = 2\n";
  for (const int ranks : {2, 6}) {
    const fs::path into = folder_ / std::to_string(ranks);
    ASSERT_EQ(train(replicas, ranks, into), 0);
    EXPECT_EQ(metrics(into, "evaluation_loss"), metrics(folder_ / "reference", "evaluation_loss")) << ranks;
  }

  const fs::path record = folder_ / "record";
  PipelineOptions requested;
  requested.run_file = folder_.file("run.toml", replicas);
  requested.record = record;
  requested.transport = "threads";
  requested.world = 2;
  requested.progress = false;
  ASSERT_EQ(train_pipeline(requested), 0);
  const auto cells = [&](int replica, const char* name) {
    return column(record / ("replica-" + std::to_string(replica)) / "rank-0/evaluation.csv", name);
  };
  EXPECT_EQ(cells(0, "microbatch").size(), 3U * 7);
  EXPECT_EQ(cells(0, "data_digest"), cells(1, "data_digest"));
  EXPECT_EQ(std::ranges::count(cells(0, "data_digest"), ""), 3) << "only the rows of a whole evaluation have none";
  EXPECT_EQ(cells(0, "loss"), cells(1, "loss"));

  requested.record = folder_ / "refused";
  requested.checkpoint.assignments = {"evaluate.microbatches=3"};
  EXPECT_THAT(error_of<InputError>([&] { train_pipeline(requested); }),
              HasSubstr("does not divide the 3 microbatches of an evaluation"));
}

TEST_F(Evaluating, DoesNotAffectTheTraining) {
  const std::string with = run_text(trained_on + evaluated + "[evaluate]\nevery = 1\n"), without = run_text(trained_on);
  for (const int ranks : {reference_alone, 3}) {
    const fs::path one = folder_ / ("with" + std::to_string(ranks)), other = folder_ / ("no" + std::to_string(ranks));
    ASSERT_EQ(train(with, ranks, one), 0);
    ASSERT_EQ(train(without, ranks, other), 0);

    EXPECT_EQ(read_checkpoint_file(one / "latest").digests, read_checkpoint_file(other / "latest").digests);
    EXPECT_EQ(metrics(one, "loss"), metrics(other, "loss"));
    EXPECT_THAT(metrics(other, "evaluation_loss"), ElementsAre("", "", "", "", ""));
  }
}

// Computes the same number in another way: the loss of a first training step on that data from those weights.
TEST_F(Evaluating, IsTheLossOfAFirstStepOnTheValidationData) {
  const fs::path at = folder_ / "evaluated";
  train(run_text(trained_on + evaluated + "[evaluate]\nmicrobatches = 3\n"), reference_alone, at);
  const std::string other = "text = \"" + testing::fixtures_path() + "/corpus/02-the-river-survey.txt\"\n";
  const std::string first = "[model]\nconfig = \"" + testing::fixtures_path() +
                            "/models/stories260k/config.json\"\nweights = \"" + (at / "latest").string() +
                            "\"\n[train]\nsteps = 1\n[data]\nseed = 4\nbatch = 2\nlengths = [9, 4, 6]\n" + other;
  train(first, reference_alone, folder_ / "first");

  EXPECT_EQ(metrics(at, "evaluation_loss").back(), metrics(folder_ / "first", "loss").front());
}

}  // namespace
}  // namespace plumbline
