// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_variant.hpp"

#include "harness/sweep/run_facts.hpp"
#include "support/error.hpp"
#include "support/toml_library.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

const char* const user_run = R"(
[model]
config = "models/small/config.json"
[data]
text = "corpus"
lengths = [4, [8, 2]]
microbatches = 6
[train]
optimizer = "adamw"
learning_rate = 0.1
beta1 = 0.9
beta2 = 0.99
eps = 1e-8
weight_decay = 1.0
[pipeline]
partition = "cost"
transport = "threads"
timeout_ms = 12345
)";

class RunVariant : public ::testing::Test {
 protected:
  RunVariant() : run_(folder_.file("runs/a.toml", user_run)) {}
  TemporaryFolder folder_;
  std::filesystem::path run_;
};

TEST_F(RunVariant, WithoutChangesAllButPathsScheduleAndTransportStays) {
  const auto written = parse_toml("made.toml", pipeline_run(run_, {}, "afab", folder_ / "out/launches/x"));

  EXPECT_EQ(written["train"]["learning_rate"].value<double>(), 0.1);
  EXPECT_EQ(written["train"]["eps"].value<double>(), 1e-8);
  EXPECT_EQ(written["train"]["beta2"].value<double>(), 0.99);
  EXPECT_TRUE(written["train"]["weight_decay"].is_floating_point()) << "1.0 must not become 1";
  EXPECT_EQ(written["data"]["microbatches"].value<std::int64_t>(), 6);
  EXPECT_EQ(written["pipeline"]["timeout_ms"].value<std::int64_t>(), 12345);
  EXPECT_EQ(written["pipeline"]["partition"].value<std::string>(), "cost");
  EXPECT_EQ(written["model"]["config"].value<std::string>(), "../../../runs/models/small/config.json");
  EXPECT_EQ(written["data"]["text"].value<std::string>(), "../../../runs/corpus");
  EXPECT_EQ(written["pipeline"]["schedule"].value<std::string>(), "afab");
  EXPECT_EQ(written["pipeline"]["transport"].value<std::string>(), "mpi") << "a sweep starts processes";
}

TEST_F(RunVariant, ASweepSavesNoCheckpointsAndWaitsHalfAMinute) {
  const auto run = folder_.file("runs/b.toml", "[model]\nconfig = \"c.json\"\n[checkpoint]\nfolder = \"saved\"\n");
  const auto written = parse_toml("made.toml", pipeline_run(run, {}, "afab", folder_.path()));

  EXPECT_FALSE(written.contains("checkpoint"));
  EXPECT_EQ(written["pipeline"]["timeout_ms"].value<std::int64_t>(), 30000);
}

TEST_F(RunVariant, KeysOfAnotherOptimizerOrScheduleAreOmitted) {
  const auto run = folder_.file("runs/b.toml",
                                "[model]\nconfig = \"c.json\"\n[train]\noptimizer = \"sgd\"\nmomentum = 0.5\n"
                                "[pipeline]\nschedule = \"mine.csv\"\n");
  RunChanges changes;
  changes.optimizer = "adamw";
  const auto other = parse_toml("made.toml", pipeline_run(run, changes, "afab", folder_.path()));
  EXPECT_FALSE(other["train"].as_table()->contains("momentum"));

  const auto own = read_run_facts(run, {}).schedule;
  const auto same = parse_toml("made.toml", pipeline_run(run, {}, own, folder_.path()));
  EXPECT_TRUE(same["train"].as_table()->contains("momentum"));
}

TEST_F(RunVariant, ShardsAndPatternsAreRebasedAndKeepTheirNames) {
  std::filesystem::create_symlink(folder_.file("blobs/1f3a", "ids"), folder_ / "runs/linked.bin");
  const auto run = folder_.file("runs/b.toml",
                                "[model]\nconfig = \"c.json\"\n[data]\n"
                                "tokens = [\"shards/*.bin\", \"/elsewhere/a.bin\", \"linked.bin\"]\n");

  const auto written = parse_toml("made.toml", pipeline_run(run, {}, "afab", folder_ / "out"));

  const auto* tokens = written["data"]["tokens"].as_array();
  ASSERT_TRUE(tokens != nullptr && tokens->size() == 3);
  EXPECT_EQ(tokens->get(0)->value<std::string>(), "../runs/shards/*.bin");
  EXPECT_EQ(tokens->get(1)->value<std::string>(), "/elsewhere/a.bin");
  EXPECT_EQ(tokens->get(2)->value<std::string>(), "../runs/linked.bin") << "an index is looked for beside the link";
}

TEST_F(RunVariant, ReferenceVariantDoesNotDependOnThePipeline) {
  RunChanges balanced;
  balanced.balance = {1, 2};

  EXPECT_EQ(reference_run(run_, balanced, folder_.path()), reference_run(run_, {}, folder_.path()));
  EXPECT_THAT(reference_run(run_, {}, folder_.path()), Not(HasSubstr("pipeline")));
}

TEST_F(RunVariant, ChangingTheOptimizerDropsTheKeysOfTheFirst) {
  for (const std::string optimizer : {"sgd", "adamw"}) {
    RunChanges changes;
    changes.optimizer = optimizer;
    const auto written = parse_toml("made.toml", reference_run(run_, changes, folder_.path()));
    EXPECT_EQ(written["train"]["optimizer"].value<std::string>(), optimizer);
    for (const char* key : {"beta1", "beta2", "eps"})
      EXPECT_EQ(static_cast<bool>(written["train"][key]), optimizer == "adamw") << key;
    EXPECT_TRUE(written["train"]["weight_decay"]);
  }
}

TEST_F(RunVariant, BalanceReplacesThePartition) {
  RunChanges changes;
  changes.balance = {0, 5};

  const auto written = parse_toml("made.toml", pipeline_run(run_, changes, "1f1b", folder_.path()));

  EXPECT_FALSE(written["pipeline"]["partition"]);
  ASSERT_TRUE(written["pipeline"]["balance"].is_array());
  EXPECT_EQ(written["pipeline"]["balance"][1].value<std::int64_t>(), 5);
}

TEST_F(RunVariant, ACasesBalanceOrPartitionReplacesTheRunFiles) {
  const auto run = folder_.file("runs/b.toml", "[model]\nconfig = \"c.json\"\n[pipeline]\nbalance = [1, 4]\n");
  RunChanges changes;
  changes.balance = {3, 2};
  const auto balanced = parse_toml("made.toml", pipeline_run(run, changes, "1f1b", folder_.path()));
  EXPECT_EQ(balanced["pipeline"]["balance"][0].value<std::int64_t>(), 3);

  changes = {};
  changes.partition = "cost";
  const auto by_cost = parse_toml("made.toml", pipeline_run(run, changes, "1f1b", folder_.path()));
  EXPECT_FALSE(by_cost["pipeline"]["balance"]);
  EXPECT_EQ(by_cost["pipeline"]["partition"].value<std::string>(), "cost");
}

TEST_F(RunVariant, LengthsReplaceTheFilesLengthsAndRepetition) {
  RunChanges changes;
  changes.lengths = {{3}, {7, 1}};

  const auto written = parse_toml("made.toml", reference_run(run_, changes, folder_.path()));

  EXPECT_FALSE(written["data"]["microbatches"]);
  EXPECT_EQ(written["data"]["lengths"][0].value<std::int64_t>(), 3);
  EXPECT_EQ(written["data"]["lengths"][1][0].value<std::int64_t>(), 7);
  EXPECT_EQ(read_run_facts(run_, changes).microbatches, 2);
}

TEST_F(RunVariant, TheLevelOfALaunchReplacesTheFiles) {
  const auto run = folder_.file("runs/b.toml", "[model]\nconfig = \"c.json\"\n[record]\nlevel = \"full\"\n");
  RunChanges changes;
  const auto level = [&](const std::string& text) {
    return parse_toml("made.toml", text)["record"]["level"].value<std::string>();
  };
  EXPECT_EQ(level(reference_run(run, changes, folder_.path())), "full");
  changes.level = "summary";
  EXPECT_EQ(level(reference_run(run, changes, folder_.path())), "summary");
  EXPECT_EQ(level(pipeline_run(run, changes, "1f1b", folder_.path())), "summary");
}

TEST_F(RunVariant, FactsOfAnUnchangedFile) {
  folder_.file("runs/models/small/config.json", R"({"num_hidden_layers": 5})");

  const auto facts = read_run_facts(run_, {});

  EXPECT_EQ(facts.model, "small");
  EXPECT_EQ(facts.layers, 5);
  EXPECT_EQ(facts.microbatches, 6);
  EXPECT_EQ(facts.schedule, "1f1b");
  EXPECT_EQ(facts.optimizer, "adamw");
}

TEST_F(RunVariant, RunFileWithoutAModelIsRefused) {
  const auto empty = folder_.file("runs/empty.toml", "[data]\n");

  EXPECT_THAT(error_of<InputError>([&] { read_run_facts(empty, {}); }), HasSubstr("empty.toml, key model.config"));
}

TEST_F(RunVariant, CandidatesStartFromOtherWeightsAndDump) {
  RunChanges changes;
  changes.level = "dump";
  changes.weights = folder_ / "reference/start.safetensors";
  const auto written = parse_toml("made.toml", candidate_run(run_, changes, folder_ / "out"));

  EXPECT_EQ(written["model"]["weights"].value<std::string>(), "../reference/start.safetensors");
  EXPECT_EQ(written["record"]["level"].value<std::string>(), "dump");
  EXPECT_EQ(written["model"]["config"].value<std::string>(), "../runs/models/small/config.json");
  EXPECT_TRUE(written["pipeline"].is_table()) << "the candidate's own keys stay";
}

}  // namespace
}  // namespace plumbline::testing
