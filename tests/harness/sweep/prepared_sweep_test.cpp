// SPDX-License-Identifier: BSD-3-Clause
// --list refuses everything that the sweep itself would refuse before it starts anything.
#include "harness/sweep/prepared_sweep.hpp"

#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class PrepareSweep : public RunSweep {
 protected:
  template <typename Refusal>
  void expect_refused_alike(const std::string& words) {
    EXPECT_THAT(error_of<Refusal>([&] { prepare_sweep(options_); }), HasSubstr(words));
    EXPECT_THAT(error_of<Refusal>([&] { run(); }), HasSubstr(words));
    EXPECT_THAT(calls(), IsEmpty());
  }
};

TEST_F(PrepareSweep, NamesTheCellsAndStartsAndWritesNothing) {
  options_.cells = {"*-w2"};

  const PreparedSweep prepared = prepare_sweep(options_);

  ASSERT_THAT(prepared.plan.cells, SizeIs(2));
  EXPECT_EQ(prepared.plan.cells[1].plan.id, "b-1f1b-w2");
  EXPECT_THAT(prepared.all_cells, SizeIs(4));
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_FALSE(fs::exists(folder_ / "out"));
}

TEST_F(PrepareSweep, AShardKnowsTheOtherShardsCases) {
  options_.shard = Shard{2, 4};

  const PreparedSweep prepared = prepare_sweep(options_);

  ASSERT_THAT(prepared.plan.cells, SizeIs(1));
  EXPECT_EQ(prepared.plan.cells[0].plan.id, "a-1f1b-w2");
  EXPECT_THAT(prepared.all_cells, ElementsAre("a-1f1b-w1", "a-1f1b-w2", "b-1f1b-w1", "b-1f1b-w2"));
}

TEST_F(PrepareSweep, RefusesAPatternThatMatchesNothing) {
  options_.cells = {"*-w9"};

  expect_refused_alike<InputError>("\"*-w9\" matches no case");
}

TEST_F(PrepareSweep, RefusesALauncherOrTrainerThatIsMissing) {
  for (const std::string trainer : {"plumbline-pipeline", "plumbline-reference"}) {
    fs::rename(folder_ / trainer, folder_ / "away");
    expect_refused_alike<SystemError>(trainer + ": no such program");
    fs::rename(folder_ / "away", folder_ / trainer);
  }
  options_.sweep_file =
      folder_.file("other.toml", "run = [\"a.toml\"]\nworld_sizes = [1]\nlauncher = \"no-such-launcher {world}\"\n");
  expect_refused_alike<SystemError>("no-such-launcher is not on PATH");
}

TEST_F(PrepareSweep, RefusesAFolderThatIsNotFree) {
  folder_.file("out/notes.txt", "mine");
  expect_refused_alike<InputError>("already contains files");
  EXPECT_EQ(bytes_of(folder_ / "out/notes.txt"), "mine");

  options_.resume = true;
  expect_refused_alike<InputError>("already contains files");

  options_.out.reset();
  expect_refused_alike<InputError>("--resume: needs --out");
}

TEST_F(PrepareSweep, RefusesAFolderWithoutAParent) {
  fs::create_symlink("circle", folder_ / "circle");
  options_.out = folder_ / "circle";
  expect_refused_alike<InputError>("circle: cannot be used");

  options_.out = folder_ / "circle" / "out";
  expect_refused_alike<InputError>("cannot be used");

  options_.out = folder_ / std::string(5000, 'a');
  expect_refused_alike<InputError>("cannot be used");
}

TEST_F(PrepareSweep, RefusesAModelThatIsMissingOrBroken) {
  folder_.file("config.json", "{");
  expect_refused_alike<InputError>("config.json");

  fs::remove(folder_ / "config.json");
  expect_refused_alike<InputError>("config.json");
}

TEST_F(PrepareSweep, RefusesARunFileWithValuesOfAnotherType) {
  folder_.file("b.toml", "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 9]\n[train]\nsteps = \"two\"\n");

  expect_refused_alike<InputError>("b.toml:6:9, key train.steps: must be an integer");
}

// The reference does not read the table [pipeline]: it would be run in vain.
TEST_F(PrepareSweep, RefusesSettingsThatOnlyCasesHave) {
  folder_.file("config.json", R"({"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4,
    "intermediate_size": 6, "num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads": 1,
    "rms_norm_eps": 1e-5, "vocab_size": 256, "max_position_embeddings": 16, "tie_word_embeddings": false})");
  folder_.file("b.toml",
               "[model]\nconfig = \"config.json\"\n[data]\nlengths = [4, 9]\n[pipeline]\npartition = \"fastest\"\n");

  expect_refused_alike<InputError>("partition `fastest` is unknown");
}

}  // namespace
}  // namespace plumbline::testing
