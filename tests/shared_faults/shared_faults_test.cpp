// SPDX-License-Identifier: BSD-3-Clause
// Each fault in code that both trainers share: what compares the two sees nothing, and what is named here sees it.
#include <gmock/gmock.h>

#include <map>
#include <sstream>
#include <vector>

#include "harness/commands/compare.hpp"
#include "harness/commands/record_check.hpp"
#include "support/json.hpp"
#include "tests/ended.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/token_file_bytes.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

const std::string programs = PLUMBLINE_BIN "/shared_faults/";

std::string with_fault(const std::string& fault) {
  return "PLUMBLINE_SHARED_FAULT=" + fault + " " + programs;
}

struct SharedFault {
  std::string name;
  std::string finding;  ///< what the audit calls the first number that does not follow from the others
  std::string run = "adamw";
};

void PrintTo(const SharedFault& fault, std::ostream* out) {
  *out << fault.name;
}

/// The smallest run in which each of the faults can act: a rate that changes, a limit that bites, a tied weight.
std::string run_file(const std::string& named) {
  const bool mixed = named.ends_with("_mixed");
  const std::string optimizer = named.substr(0, named.find('_'));
  return "[model]\nconfig = \"" PLUMBLINE_FIXTURES
         "/models/stories260k/config.json\"\n[data]\ntext = \"" PLUMBLINE_FIXTURES
         "/corpus\"\nlengths = [16, 9, [16, 5], 1]\nbatch = 2\nmasked = [1]\n[train]\nsteps = 3\nlearning_rate = 1e-3\n"
         "warmup_steps = 2\nstart_factor = 0.1\nclip_norm = 0.7\noptimizer = \"" +
         optimizer + (mixed ? "\"\nprecision = \"mixed" : "") + "\"\n[record]\nlevel = \"dump\"\n";
}

const CheckResult& find(const CellVerdict& verdict, std::string_view check) {
  return *std::ranges::find(verdict.checks, check, &CheckResult::name);
}

class SharedFaults : public ::testing::TestWithParam<SharedFault> {
 protected:
  std::string record(const std::string& trainer, const std::string& fault, const std::string& options) {
    const std::string out = (folder_ / trainer).string();
    const Ended ended = end_of(
        with_fault(fault) + "plumbline-" + trainer + " " + run_.string() + " --record " + out + " --quiet " + options,
        folder_.path());
    EXPECT_EQ(ended.code, 0) << ended.said;
    return out;
  }

  TemporaryFolder folder_;
  std::filesystem::path run_ = folder_.file("run.toml", run_file(GetParam().run));
};

TEST_P(SharedFaults, AreSeenByTheAuditAndNothingElse) {
  const SharedFault& fault = GetParam();
  const std::string reference = record("reference", fault.name, "");
  const std::string pipeline = record("pipeline", fault.name, "--transport threads --world 2");

  const CellVerdict verdict = compare_records(reference, pipeline);

  for (const char* name : {"data", "loss", "boundaries", "gradients", "parameters"})
    EXPECT_EQ(to_text(find(verdict, name).outcome), "holds") << comparison_text(verdict);
  const CheckResult& audit = find(verdict, "audit");
  for (const std::string& path : {reference, pipeline}) {
    const RecordCheck check = check_record(path);
    if (fault.finding.empty()) {
      EXPECT_TRUE(check.holds()) << to_text(check);
    } else {
      EXPECT_FALSE(check.holds());
      EXPECT_THAT(to_text(check), HasSubstr(fault.finding));
    }
  }
  EXPECT_EQ(to_text(audit.outcome), fault.finding.empty() ? "holds" : "fails") << comparison_text(verdict);
  EXPECT_EQ(verdict.holds, fault.finding.empty());
}

const SharedFault faults[] = {{"none", ""},
                              {"rate_early", "learning_rate"},
                              {"rate_of_last_step", "does not follow"},
                              {"rate_of_last_step", "does not follow", "sgd"},
                              {"coefficient_epsilon", "clip_coefficient"},
                              {"clip_not_applied", "does not follow"},
                              {"clip_not_applied", "does not follow", "sgd"},
                              {"clip_applied_twice", "does not follow"},
                              {"step_applied_twice", "does not follow"},
                              {"step_applied_twice", "does not follow", "sgd"},
                              {"second_step_skipped", "does not follow"},
                              {"moments_exchanged", "does not follow"},
                              {"step_count_restarts", "does not follow"},
                              {"norm_without_final_norm", "gradient_norm"},
                              {"none", "", "adamw_mixed"},
                              {"none", "", "sgd_mixed"},
                              {"copy_not_refreshed", "a copy is its master rounded once", "adamw_mixed"},
                              {"copy_not_refreshed", "a copy is its master rounded once", "sgd_mixed"},
                              {"master_rounded", "does not follow", "adamw_mixed"},
                              {"master_rounded", "does not follow", "sgd_mixed"},
                              {"clip_not_applied", "does not follow", "adamw_mixed"},
                              {"second_step_skipped", "does not follow", "adamw_mixed"}};

INSTANTIATE_TEST_SUITE_P(OfBothTrainers, SharedFaults, ::testing::ValuesIn(faults),
                         [](const auto& tested) { return tested.param.name + "_" + tested.param.run; });

// What no arithmetic over one record can tell, since it takes the model itself: the goldens and the witness see it.

TEST(SharedFaultsOfTheModel, AreSeenByTheGoldens) {
  const std::map<std::string, std::string> seen{{"rope_restarts_at_64", "three_hundred_tokens"},
                                                {"masked_labels_counted", "masked_labels"}};
  const TemporaryFolder folder;
  for (const auto& [fault, golden] : seen) {
    const std::string command = "plumbline-reference --golden " PLUMBLINE_FIXTURES "/hf_golden/" + golden;
    EXPECT_EQ(end_of(with_fault("none") + command, folder.path()).code, 0);
    const Ended ended = end_of(with_fault(fault) + command, folder.path());
    EXPECT_EQ(ended.code, 1) << fault << ": " << ended.said;
  }
}

TEST(SharedFaultsOfTheModel, AreSeenByTheWitness) {
  const std::string witness = PLUMBLINE_FIXTURES "/witness/adamw-tied";
  const auto agrees = [&](const std::string& fault) {
    const TemporaryFolder folder;
    const Ended trained = end_of(
        with_fault(fault) + "plumbline-reference " + witness + ".toml --quiet --record " + (folder / "ours").string(),
        folder.path());
    EXPECT_EQ(trained.code, 0) << trained.said;
    return compare_records(witness, folder / "ours").holds;
  };
  if (!agrees("none")) GTEST_SKIP() << "the witness' records were made on another code path than this machine's";
  for (const char* fault : {"gradients_not_zeroed", "loss_per_microbatch", "data_of_next_step", "clip_applied_twice"})
    EXPECT_FALSE(agrees(fault)) << fault;
}

/// What one table says twice, the check of that table sees too.
TEST(SharedFaultsOfTheRows, AreSeenByTheCheckOfTheLossToo) {
  const TemporaryFolder folder;
  const auto run = folder.file("run.toml", run_file("adamw"));
  for (const std::string trainer : {"reference", "pipeline"}) {
    const std::string ranks = trainer == "pipeline" ? " --transport threads --world 2" : "";
    const Ended ended = end_of(with_fault("loss_averaged") + "plumbline-" + trainer + " " + run.string() +
                                   " --quiet --record " + (folder / trainer).string() + ranks,
                               folder.path());
    ASSERT_EQ(ended.code, 0) << ended.said;
  }
  const CellVerdict verdict = compare_records(folder / "reference", folder / "pipeline");
  for (const char* name : {"loss", "audit"})
    EXPECT_EQ(to_text(find(verdict, name).outcome), "fails") << comparison_text(verdict);
}

class SharedFaultsOfTheData : public ::testing::Test {
 protected:
  /// A sweep of the run with the fault; what it printed.
  Ended swept(const std::string& run, const std::string& fault) {
    folder_.file("run.toml", run);
    const auto sweep = folder_.file("sweep.toml", "launcher = \"" PLUMBLINE_SOURCE
                                                  "/scripts/ranks-as-threads {world}\"\n"
                                                  "run = [\"run.toml\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
    std::filesystem::remove_all(out_);
    return end_of("PLUMBLINE_SHARED_FAULT=" + fault + " " PLUMBLINE_BIN "/plumbline sweep " + sweep.string() +
                      " --trainers " + programs + " --out " + out_.string(),
                  folder_.path());
  }
  void expect_seen(const std::string& run, const std::string& fault) {
    const Ended right = swept(run, "none");
    EXPECT_EQ(right.code, 0) << right.said;
    const Ended ended = swept(run, fault);
    EXPECT_EQ(ended.code, 1) << ended.said;
    EXPECT_THAT(read_file(out_ / "results.csv"), HasSubstr("as_asked,fails")) << ended.said;
  }

  TemporaryFolder folder_;
  std::filesystem::path out_ = folder_ / "out";
};

TEST_F(SharedFaultsOfTheData, AreNotWhatWasAskedFor) {
  expect_seen(run_file("adamw"), "data_of_next_step");
}

// Eleven windows of four tokens, four rows a step: the third step begins the second epoch.
TEST_F(SharedFaultsOfTheData, AnEpochInTheOrderOfTheOneBeforeIsNotWhatWasAskedFor) {
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 45; ++i) ids.push_back(i * 11);
  folder_.file("shards/1.idx", megatron_index(4, 4, {20}));
  folder_.file("shards/1.bin", numbers(std::vector(ids.begin(), ids.begin() + 20)));
  folder_.file("shards/2.idx", megatron_index(4, 4, {25}));
  folder_.file("shards/2.bin", numbers(std::vector(ids.begin() + 20, ids.end())));

  expect_seen("[model]\nconfig = \"" PLUMBLINE_FIXTURES
              "/models/stories260k/config.json\"\n[data]\ntokens = \"shards/*\"\nshuffle = \"windows\"\n"
              "lengths = [4, [3, 1]]\nbatch = 2\n[train]\nsteps = 3\n",
              "same_order_every_epoch");
}

// Bits cannot tell it: what both keep is more than their manifests say.
TEST_F(SharedFaultsOfTheData, LayersThatAreKeptThoughTheyAreToBeComputedAgain) {
  std::string run = run_file("sgd");
  run.insert(run.find("[train]\n") + 8, "recompute = \"layer\"\n");
  const Ended right = swept(run, "none");
  EXPECT_EQ(right.code, 0) << right.said;

  const Ended ended = swept(run, "not_recomputed");

  EXPECT_EQ(ended.code, 1) << ended.said;
  const std::string results = read_file(out_ / "results.csv");
  EXPECT_THAT(results, HasSubstr("memory,fails")) << ended.said;
  EXPECT_THAT(results, HasSubstr("parameters,holds")) << ended.said;
}

/// A cell of metrics.csv's last row.
std::string last_metric(const std::filesystem::path& folder, const std::string& name) {
  std::istringstream lines(read_file(folder / "metrics.csv"));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    auto& row = rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
  }
  return rows.back().at(static_cast<std::size_t>(std::ranges::find(rows.front(), name) - rows.front().begin()));
}

// The evaluation after a run is the loss of the first step of another, on the validation data, from the weights that
// the first one saved.
TEST(SharedFaultsOfTheEvaluation, AreSeenByAFirstStepOnThatData) {
  const TemporaryFolder folder;
  const std::string model = "[model]\nconfig = \"" PLUMBLINE_FIXTURES "/models/stories260k/config.json\"\n";
  const std::string corpus = PLUMBLINE_FIXTURES "/corpus/";
  const std::string data = "[data]\nlengths = [9, 4, 6]\ntext = \"" + corpus;
  const auto run =
      folder.file("run.toml", model + "[train]\nsteps = 2\n" + data + "01-the-plumb-line.txt\"\nvalidation = \"" +
                                  corpus + "02-the-river-survey.txt\"\n");
  const auto first = folder.file(
      "first.toml", model + "weights = \"saved/latest\"\n[train]\nsteps = 1\n" + data + "02-the-river-survey.txt\"\n");
  const auto agrees = [&](const std::string& trainer, const std::string& fault, const std::string& options) {
    for (const char* each : {"saved", "again"}) std::filesystem::remove_all(folder / each);
    const auto started = [&](const std::string& program) {
      const Ended ended = end_of(program, folder.path());
      EXPECT_EQ(ended.code, 0) << ended.said;
    };
    started(with_fault(fault) + "plumbline-" + trainer + " " + run.string() + " --quiet --checkpoint " +
            (folder / "saved").string() + options);
    started(with_fault("none") + "plumbline-reference " + first.string() + " --quiet --checkpoint " +
            (folder / "again").string());
    return last_metric(folder / "saved", "evaluation_loss") == last_metric(folder / "again", "loss");
  };
  for (const std::string trainer : {"reference", "pipeline"}) {
    const std::string options = trainer == "pipeline" ? " --transport threads --world 2" : "";
    EXPECT_TRUE(agrees(trainer, "none", options)) << trainer;
    for (const char* fault : {"evaluation_of_training_data", "evaluation_without_last_microbatch", "data_of_next_step"})
      EXPECT_FALSE(agrees(trainer, fault, options)) << trainer << ", " << fault;
  }
}

}  // namespace
}  // namespace plumbline::testing
