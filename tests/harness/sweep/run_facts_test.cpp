// SPDX-License-Identifier: BSD-3-Clause
// Requests of Plumbline's own trainers: every key of a run file that affects the computation is in the request, because
// the judge checks only what is requested.
#include "harness/sweep/run_facts.hpp"

#include "harness/sweep/run_commands.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

class MakeRequest : public ::testing::Test {
 protected:
  MakeRequest() {
    folder_.file("config.json", config_);
    folder_.file("t.txt", "to be");
    reference_.run = cell_.run = folder_ / "a.toml";
    cell_.plan.world = 2;
    cell_.plan.schedule = cell_.schedule = "1f1b";
    cell_.placement = make_schedule("1f1b", 2, 4, 1).placement;
  }
  /// The tables without [model].
  void run_file(const std::string& text) { folder_.file("a.toml", "[model]\nconfig = \"config.json\"\n" + text); }
  void data(const std::string& keys) { run_file("[data]\n" + keys + "\n[train]\nsteps = 1\n"); }
  Request of_reference() const { return make_request(sweep_, reference_); }
  Request of_cell() const { return make_request(sweep_, cell_); }
  std::vector<std::vector<std::int64_t>> lengths() const {
    std::vector<std::vector<std::int64_t>> all;
    const Request asked = of_reference();
    for (const auto& microbatch : *asked.microbatches) all.push_back(microbatch.lengths);
    return all;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    const Request asked = of_reference();
    for (const auto& file : asked.data->files) names.push_back(file.filename().string());
    return names;
  }

  const std::string config_ = R"({"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": 4,
    "intermediate_size": 6, "num_attention_heads": 2, "num_hidden_layers": 5, "num_key_value_heads": 1,
    "rms_norm_eps": 1e-5, "vocab_size": 256, "max_position_embeddings": 16, "tie_word_embeddings": false})";
  TemporaryFolder folder_;
  SweepFile sweep_;
  PlannedReference reference_;
  PlannedCell cell_;
};

TEST_F(MakeRequest, RequestsEveryKeyOfTheRunFile) {
  run_file(R"(
[data]
text = "t.txt"
seed = 7
shuffle = "windows"
lengths = [4, 8]
batch = 2
masked = [1]
[train]
steps = 6
seed = 3
precision = "bfloat16"
learning_rate = 0.5
warmup_steps = 2
start_factor = 0.25
final_factor = 0.125
weight_decay = 0.0625
decay = "matrices"
beta1 = 0.75
beta2 = 0.5
eps = 0.03125
clip_norm = 2.5
recompute = "layer"
threads = 4
[record]
level = "summary"
)");
  sweep_.device = "cuda";

  const Request asked = of_reference();

  EXPECT_EQ(asked.role, "reference");
  EXPECT_EQ(asked.world_size, 1);
  EXPECT_EQ(asked.model_digest, model_digest(Json::parse(config_)));
  EXPECT_EQ(asked.seed, 3U);
  EXPECT_EQ(asked.dtype, "bfloat16");
  EXPECT_EQ(asked.steps, 6);
  EXPECT_EQ(asked.first_step, 0);
  EXPECT_EQ(*asked.optimizer, Json::parse(R"({"name": "adamw", "learning_rate": 0.5, "weight_decay": 0.0625,
      "decay": "matrices", "beta1": 0.75, "beta2": 0.5, "eps": 0.03125})"));
  EXPECT_EQ(*asked.learning_rate_schedule, Json::parse(R"({"total_steps": 6, "warmup_steps": 2, "start_factor": 0.25,
      "final_factor": 0.125})"));
  EXPECT_EQ(*asked.clip_norm, Json(2.5));
  EXPECT_THAT(*asked.microbatches, ElementsAre(RequestedMicrobatch{{4, 4}, false}, RequestedMicrobatch{{8, 8}, true}));
  EXPECT_EQ(asked.device, "cuda");
  EXPECT_EQ(asked.threads, 4);
  EXPECT_EQ(asked.recompute, "layer");
  EXPECT_EQ(asked.level, "summary");
  ASSERT_TRUE(asked.data);
  EXPECT_THAT(asked.data->files, ElementsAre(folder_ / "t.txt"));
  EXPECT_THAT(asked.data->sizes, ElementsAre(5));
  EXPECT_EQ(asked.data->format, "bytes");
  EXPECT_EQ(asked.data->seed, 7U);
  EXPECT_EQ(asked.data->shuffle, "windows");
  ASSERT_TRUE(asked.evaluation) << "that there is to be none is asked for too";
  EXPECT_FALSE(*asked.evaluation);
  EXPECT_EQ(asked.accumulation_digest, "");
  reference_.accumulation = "unit,microbatch\n";
  EXPECT_EQ(of_reference().accumulation_digest, hash_hex(reference_.accumulation));
}

// Defaults of docs/run-file.md are requested as well.
TEST_F(MakeRequest, RequestsDefaultsToo) {
  data("text = \"t.txt\"\nlengths = [4]");

  const Request asked = of_reference();

  EXPECT_EQ(asked.seed, 1U);
  EXPECT_EQ(asked.dtype, "float32");
  EXPECT_EQ(*asked.optimizer, Json::parse(R"({"name": "adamw", "learning_rate": 1e-3, "weight_decay": 0.0,
      "decay": "all", "beta1": 0.9, "beta2": 0.999, "eps": 1e-8})"));
  EXPECT_EQ(*asked.learning_rate_schedule, Json::parse(R"({"total_steps": 1, "warmup_steps": 0, "start_factor": 1.0,
      "final_factor": 0.0})"));
  ASSERT_TRUE(asked.clip_norm);
  EXPECT_EQ(*asked.clip_norm, Json(nullptr)) << "no clipping";
  EXPECT_EQ(asked.device, "cpu");
  EXPECT_EQ(asked.threads, 1);
  EXPECT_EQ(asked.recompute, "none");
  EXPECT_EQ(asked.level, "full");
  EXPECT_EQ(asked.data->seed, 1U);
  EXPECT_EQ(asked.data->shuffle, "none");
}

TEST_F(MakeRequest, RequestsSgdsMomentumAndACasesOptimizer) {
  run_file("[data]\nlengths = [4]\n[train]\nsteps = 1\noptimizer = \"sgd\"\nmomentum = 0.5\n");
  EXPECT_EQ(*of_reference().optimizer,
            Json::parse(R"({"name": "sgd", "learning_rate": 1e-3, "weight_decay": 0.0, "decay": "all",
                            "momentum": 0.5})"));

  reference_.changes.optimizer = "adamw";
  EXPECT_EQ(of_reference().optimizer->at("name"), "adamw");
  EXPECT_EQ(of_reference().optimizer->at("beta1"), 0.9);
}

TEST_F(MakeRequest, TheLevelIsTheCallersThenTheCellsThenTheFiles) {
  run_file("[data]\nlengths = [4]\n[train]\nsteps = 1\n[record]\nlevel = \"summary\"\n");
  EXPECT_EQ(of_reference().level, "summary");
  reference_.changes.level = "dump";
  EXPECT_EQ(of_reference().level, "dump");
  reference_ = at_level(reference_, "full");
  EXPECT_EQ(of_reference().level, "full");
}

TEST_F(MakeRequest, LengthsRepeatUntilThereAreAsManyMicrobatches) {
  data("lengths = [4, [8, 2]]\nbatch = 2\nmicrobatches = 5");
  EXPECT_THAT(lengths(), ElementsAre(ElementsAre(4, 4), ElementsAre(8, 2), ElementsAre(4, 4), ElementsAre(8, 2),
                                     ElementsAre(4, 4)));

  reference_.changes.lengths = {{6}, {3}};
  EXPECT_THAT(lengths(), ElementsAre(ElementsAre(6, 6), ElementsAre(3, 3))) << "the cell's are all there are";
}

TEST_F(MakeRequest, MoreRowsThanASweepTakesAreRefused) {
  data("lengths = [4]\nbatch = 1000001");
  EXPECT_THAT(error_of<InputError>([&] { of_reference(); }),
              HasSubstr("a.toml, key data.batch: 1 microbatches of 1000001 rows exceed 1000000 rows a step"));
  data("lengths = [4]\nbatch = 9223372036854775807");
  EXPECT_THAT(error_of<InputError>([&] { of_reference(); }), HasSubstr("key data.batch"));
  data("lengths = [4]\nbatch = 1000\nmicrobatches = 1001");
  EXPECT_THAT(error_of<InputError>([&] { of_reference(); }), HasSubstr("1001 microbatches of 1000 rows exceed"));
  data("lengths = [4]\nbatch = 1000\nmicrobatches = 1000");
  EXPECT_THAT(lengths(), SizeIs(1000));
  data("lengths = [[4], []]");
  EXPECT_THAT(error_of<InputError>([&] { of_reference(); }),
              HasSubstr("key data.lengths: has a microbatch without rows"));
}

TEST_F(MakeRequest, WithoutLengthsThereIsNoMicrobatch) {
  data("microbatches = 3");

  EXPECT_THAT(lengths(), IsEmpty()) << "the trainers say that the key is missing";
  EXPECT_FALSE(of_reference().data);
}

TEST_F(MakeRequest, FilesOfIdsAreNamedInTheirOrder) {
  for (const char* name : {"ids/b.bin", "ids/a.bin", "ids/c.txt", "more.idx", "more.bin"}) folder_.file(name, "four");
  data("tokens = [\"ids/*.bin\", \"more.idx\", \"none.bin\"]\ntoken_type = \"uint32\"\nlengths = [4]");

  EXPECT_THAT(files(), ElementsAre("a.bin", "b.bin", "more.bin", "none.bin")) << "an index stands for its ids";
  const Request asked = of_reference();
  EXPECT_EQ(asked.data->format, "uint32");
  EXPECT_THAT(asked.data->sizes, ElementsAre(4, 4, 4, 0));
  EXPECT_TRUE(asked.data->files[0].is_absolute());
}

TEST_F(MakeRequest, AFileOfIdsMayHaveAnyNameAndIsOfTwoBytes) {
  folder_.file("ids.u16", "four");
  folder_.file("ids.bin", "others");
  data("tokens = \"ids.u16\"\nlengths = [4]");
  EXPECT_THAT(files(), ElementsAre("ids.u16"));
  EXPECT_EQ(of_reference().data->format, "uint16");
}

TEST_F(MakeRequest, TextsOfAFolderAreSortedByName) {
  for (const char* name : {"texts/c.txt", "texts/a.txt", "texts/b.txt", "texts/notes.md", "texts/d.txt/x"})
    folder_.file(name, "to be");
  data("text = \"texts\"\nlengths = [4]");

  EXPECT_THAT(files(), ElementsAre("a.txt", "b.txt", "c.txt"));
}

TEST_F(MakeRequest, RequestsAnEvaluationWithItsDataAndMicrobatches) {
  folder_.file("v.txt", "or not");
  const std::string of_data = "[data]\ntext = \"t.txt\"\nvalidation = \"v.txt\"\nseed = 7\nshuffle = \"windows\"\n";
  run_file(of_data + "lengths = [4, 8]\nmasked = [0]\n[train]\nsteps = 1\n[evaluate]\nevery = 2\nmicrobatches = 3\n");

  const auto asked = **of_reference().evaluation;

  EXPECT_EQ(asked.every, 2);
  EXPECT_THAT(asked.microbatches, ElementsAre(RequestedMicrobatch{{4}, false}, RequestedMicrobatch{{8}, false},
                                              RequestedMicrobatch{{4}, false}));
  EXPECT_THAT(asked.data.files, ElementsAre(folder_ / "v.txt"));
  EXPECT_EQ(asked.data.format, "bytes");
  EXPECT_EQ(asked.data.seed, 7U);
  EXPECT_EQ(asked.data.shuffle, "none") << "always over the same tokens";

  run_file(of_data + "lengths = [4, 8]\n[train]\nsteps = 1\n");
  const auto without_table = **of_reference().evaluation;
  EXPECT_EQ(without_table.every, 0);
  EXPECT_THAT(without_table.microbatches, SizeIs(2)) << "as many as a step's";
}

TEST_F(MakeRequest, AnEvaluationIsOfIdsWhereTheTrainingIs) {
  for (const char* name : {"ids.bin", "v.bin"}) folder_.file(name, "four");
  data("tokens = \"ids.bin\"\nvalidation = \"v.bin\"\nlengths = [4]");

  const auto asked = **of_reference().evaluation;

  EXPECT_THAT(asked.data.files, ElementsAre(folder_ / "v.bin"));
  EXPECT_EQ(asked.data.format, "uint16");
}

// Other trainers, started in other folders, are told the same files.
TEST_F(MakeRequest, FilesOfARunThatIsNamedFromHereAreNamedFromTheRoot) {
  data("text = \"t.txt\"\nlengths = [4]");
  const fs::path before = fs::current_path();
  fs::current_path(folder_.path());
  reference_.run = "a.toml";

  const Request asked = of_reference();
  fs::current_path(before);

  EXPECT_THAT(asked.data->files, ElementsAre(fs::canonical(folder_.path()) / "t.txt"));
}

class MakeRequestOfACell : public MakeRequest {
 protected:
  MakeRequestOfACell() { pipeline(""); }
  void pipeline(const std::string& keys) {
    run_file("[data]\ntext = \"t.txt\"\nlengths = [4, 8, 4, 8]\n[train]\nsteps = 3\n[pipeline]\n" + keys);
  }
  std::vector<std::size_t> units_of_stages() const {
    std::vector<std::size_t> counts;
    const Request asked = of_cell();
    for (const StageEntry& stage : *asked.stages) counts.push_back(stage.units.size());
    return counts;
  }
};

TEST_F(MakeRequestOfACell, WithoutAMicrobatchIsRefused) {
  data("microbatches = 3");
  EXPECT_THAT(error_of<InputError>([&] { of_cell(); }), HasSubstr("key data.lengths: is empty"));
}

TEST_F(MakeRequestOfACell, RequestsThePipeline) {
  const Request asked = of_cell();

  EXPECT_EQ(asked.role, "pipeline");
  EXPECT_EQ(asked.world_size, 2);
  EXPECT_EQ(asked.first_step, 0);
  EXPECT_EQ(asked.steps, 3);
  EXPECT_EQ(asked.transport, "mpi");
  EXPECT_EQ(asked.schedule->name, "1f1b");
  EXPECT_EQ(asked.schedule->chunks_per_rank, 1);
  EXPECT_EQ(asked.schedule->digest, hash_hex(to_csv(make_schedule("1f1b", 2, 4, 1))));
  ASSERT_THAT(*asked.stages, SizeIs(2));
  EXPECT_EQ((*asked.stages)[1].stage, 1);
  EXPECT_EQ((*asked.stages)[1].rank, 1);
  EXPECT_THAT((*asked.stages)[0].units, ElementsAre("embed_tokens", "layers.0", "layers.1", "layers.2"));
  EXPECT_THAT((*asked.stages)[1].units, ElementsAre("layers.3", "layers.4", "norm", "lm_head"));
}

TEST_F(MakeRequestOfACell, AScheduleFileIsRequestedByItsBytes) {
  cell_.plan.schedule = "mine.csv";
  cell_.plan.schedule_csv = "rank,action\n";

  EXPECT_EQ(of_cell().schedule->name, "mine.csv");
  EXPECT_EQ(of_cell().schedule->digest, hash_hex("rank,action\n"));
}

TEST_F(MakeRequestOfACell, PlacesSeveralStagesOnEachRank) {
  cell_.plan.schedule = cell_.schedule = "interleaved-1f1b";
  cell_.placement = make_schedule("interleaved-1f1b", 2, 4, 2).placement;

  const Request asked = of_cell();

  EXPECT_EQ(asked.schedule->chunks_per_rank, 2);
  ASSERT_THAT(*asked.stages, SizeIs(4));
  EXPECT_EQ((*asked.stages)[2].stage, 2);
  EXPECT_EQ((*asked.stages)[2].rank, 0);
  EXPECT_EQ((*asked.stages)[3].rank, 1);
}

TEST_F(MakeRequestOfACell, ThePartitionIsTheCellsThenTheFiles) {
  pipeline("balance = [5, 0]\n");
  EXPECT_THAT(units_of_stages(), ElementsAre(6, 2));
  cell_.changes.partition = "uniform";
  EXPECT_THAT(units_of_stages(), ElementsAre(4, 4));
  cell_.changes.balance = {1, 4};
  EXPECT_THAT(units_of_stages(), ElementsAre(2, 6));

  cell_.changes = {};
  pipeline("partition = \"uniform\"\n");
  EXPECT_THAT(units_of_stages(), ElementsAre(4, 4));
}

// Of so large a vocabulary the head weighs more than all layers.
TEST_F(MakeRequestOfACell, RequestsAPartitionByCost) {
  std::string large = config_;
  large.replace(large.find("256"), 3, "64000");
  folder_.file("config.json", large);
  pipeline("partition = \"cost\"\n");

  EXPECT_THAT(units_of_stages(), ElementsAre(6, 2));
}

TEST_F(MakeRequestOfACell, ThreadsBecomeProcessesUnlessTheFileHasALauncher) {
  pipeline("transport = \"threads\"\n");
  EXPECT_EQ(of_cell().transport, "mpi");
  pipeline("transport = \"nccl\"\n");
  EXPECT_EQ(of_cell().transport, "nccl");
  sweep_.own_launcher = true;
  EXPECT_FALSE(of_cell().transport);
}

TEST_F(MakeRequestOfACell, RequestsTheFirstStepOfAResumedRun) {
  cell_.resumes_from = PlannedStart{2, 1, "afab"};

  EXPECT_EQ(of_cell().first_step, 2);
}

TEST_F(MakeRequestOfACell, DoesNotRequestStagesOfOtherModels) {
  folder_.file("config.json", R"({"num_hidden_layers": 5})");

  const Request asked = of_cell();

  EXPECT_FALSE(asked.stages);
  EXPECT_TRUE(asked.schedule);
}

TEST_F(MakeRequestOfACell, RequestsTheValuesOfACommand) {
  PlannedCommand command;
  command.values = {{"steps", "5"},       {"microbatches", "4"}, {"seed", "0"},        {"threads", "2"},
                    {"dtype", "float64"}, {"device", "cuda"},    {"level", "summary"}, {"schedule", "theirs"}};
  command.ranks = 3;
  command.is_candidate = true;
  cell_.command = command;
  command.is_candidate = false;
  reference_.command = command;

  const Request asked = of_cell();
  EXPECT_EQ(asked.world_size, 3);
  EXPECT_EQ(asked.steps, 5);
  EXPECT_EQ(asked.microbatch_count, 4);
  EXPECT_EQ(asked.seed, 0U);
  EXPECT_EQ(asked.threads, 2);
  EXPECT_EQ(asked.dtype, "float64");
  EXPECT_EQ(asked.device, "cuda");
  EXPECT_EQ(asked.level, "summary");
  EXPECT_EQ(asked.schedule->name, "theirs");
  cell_ = at_level(cell_, "dump");
  EXPECT_EQ(of_cell().level, "dump");
  EXPECT_FALSE(of_reference().schedule) << "a reference runs under none";
  reference_ = at_level(reference_, "dump");
  EXPECT_EQ(of_reference().level, "dump");
}

TEST(ModelConfig, IsReadAgainOnlyIfTheFileChanged) {
  const testing::TemporaryFolder folder;
  const auto path = folder.file("config.json", R"({"hidden_size": 8})");
  const auto first = model_config(path);

  EXPECT_EQ(model_config(path), first);
  folder.file("config.json", R"({"hidden_size": 16})");
  EXPECT_EQ(model_config(path)->json.at("hidden_size"), 16);
}

}  // namespace
}  // namespace plumbline::testing
