// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_file.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

using Rows = std::vector<std::vector<std::int64_t>>;

constexpr const char* model = "[model]\nconfig = \"models/a/config.json\"\n";
constexpr const char* data = "[data]\ntext = \"corpus/\"\nlengths = [8, 4]\n";
constexpr const char* train = "[train]\nsteps = 5\n";

RunFile load(const std::string& text) {
  const TemporaryFolder folder;
  return load_run_file(folder.file("run.toml", text));
}

RunFile with_data(const std::string& keys) {
  return load(std::string(model) + "[data]\n" + keys + "\n" + train);
}

RunFile with_train(const std::string& keys) {
  return load(std::string(model) + data + train + keys + "\n");
}

TEST(RunFile, ReadsEveryKey) {
  const TemporaryFolder folder;
  const auto path = folder.file("run.toml", R"([model]
config = "models/stories260k/config.json"
weights = "../model.safetensors"
[data]
tokens = ["file.bin", "shards/*.bin"]
token_type = "uint32"
shuffle = "windows"
seed = 11
lengths = [96, [33, 20], 1]
microbatches = 5
batch = 2
masked = [4]
[train]
steps = 6
seed = 12
dtype = "float64"
optimizer = "adamw"
beta1 = 0.8
beta2 = 0.95
eps = 1e-6
weight_decay = 0.1
learning_rate = 2e-3
warmup_steps = 2
start_factor = 0.25
final_factor = 0.5
threads = 3
recompute = "layer"
decay = "matrices"
clip_norm = 1
[pipeline]
schedule = "afab"
chunks = 2
balance = [2, 0, 3]
transport = "threads"
max_ctas = 0
timeout_ms = 500
[record]
level = "dump"
)");

  const RunFile run = load_run_file(path);

  EXPECT_EQ(run.path, path);
  EXPECT_EQ(run.config, folder / "models/stories260k/config.json");
  EXPECT_EQ(run.weights, folder.path().parent_path() / "model.safetensors");
  EXPECT_FALSE(run.data.text.has_value());
  EXPECT_THAT(run.data.tokens, ElementsAre(folder / "file.bin", folder / "shards/*.bin"));
  EXPECT_EQ(run.data.token_type, "uint32");
  EXPECT_EQ(run.data.shuffle, "windows");
  EXPECT_EQ(run.data.seed, 11U);
  EXPECT_EQ(run.data.row_lengths, (Rows{{96, 96}, {33, 20}, {1, 1}, {96, 96}, {33, 20}}));
  EXPECT_THAT(run.data.masked, ElementsAre(4));
  EXPECT_EQ(run.microbatches(), 5);
  EXPECT_EQ(run.train.steps, 6);
  EXPECT_EQ(run.train.seed, 12U);
  EXPECT_EQ(run.train.dtype, "float64");
  EXPECT_EQ(run.train.optimizer.name, "adamw");
  EXPECT_EQ(run.train.optimizer.learning_rate, 2e-3);
  EXPECT_EQ(run.train.optimizer.beta1, 0.8);
  EXPECT_EQ(run.train.optimizer.beta2, 0.95);
  EXPECT_EQ(run.train.optimizer.eps, 1e-6);
  EXPECT_EQ(run.train.optimizer.weight_decay, 0.1);
  EXPECT_EQ(run.train.warmup_steps, 2);
  EXPECT_EQ(run.train.start_factor, 0.25);
  EXPECT_EQ(run.train.final_factor, 0.5);
  EXPECT_EQ(run.train.threads, 3);
  EXPECT_EQ(run.train.recompute, Recompute::layer);
  EXPECT_EQ(run.train.optimizer.decay, "matrices");
  EXPECT_EQ(run.train.clip_norm, 1.0);
  EXPECT_EQ(run.pipeline.schedule, "afab");
  EXPECT_EQ(run.pipeline.chunks, 2);
  EXPECT_EQ(run.pipeline.partition, "balance");
  EXPECT_THAT(run.pipeline.balance, ElementsAre(2, 0, 3));
  EXPECT_EQ(run.pipeline.transport, "threads");
  EXPECT_EQ(run.pipeline.max_ctas, 0);
  EXPECT_EQ(run.pipeline.timeout_ms, 500);
  EXPECT_EQ(run.record_level, RecordLevel::dump);
}

TEST(RunFile, HasDefaultsThatWork) {
  const RunFile run = load(std::string(model) + data + train);

  EXPECT_EQ(run.data.row_lengths, (Rows{{8}, {4}}));
  EXPECT_TRUE(run.data.masked.empty());
  EXPECT_EQ(run.train.optimizer.name, "adamw");
  EXPECT_EQ(run.train.dtype, "float32");
  EXPECT_EQ(run.train.recompute, Recompute::none);
  EXPECT_FALSE(run.train.clip_norm.has_value());
  EXPECT_EQ(run.pipeline.schedule, "1f1b");
  EXPECT_EQ(run.pipeline.partition, "uniform");
  EXPECT_EQ(run.pipeline.transport, "mpi");
  EXPECT_EQ(run.record_level, RecordLevel::full);
}

TEST(RunFile, HasTheDocumentedDefaults) {
  const RunFile run = load(std::string(model) + data + train);

  EXPECT_EQ(run.data.seed, 1U);
  EXPECT_EQ(run.data.shuffle, "none");
  EXPECT_EQ(run.train.seed, 1U);
  EXPECT_EQ(run.train.warmup_steps, 0);
  EXPECT_EQ(run.train.start_factor, 1.0);
  EXPECT_EQ(run.train.final_factor, 0.0);
  EXPECT_EQ(run.train.threads, 1);
  const OptimizerSettings& adamw = run.train.optimizer;
  EXPECT_EQ(adamw.learning_rate, 1e-3);
  EXPECT_EQ(adamw.beta1, 0.9);
  EXPECT_EQ(adamw.beta2, 0.999);
  EXPECT_EQ(adamw.eps, 1e-8);
  EXPECT_EQ(adamw.weight_decay, 0.0);
  EXPECT_EQ(adamw.decay, "all");
  EXPECT_EQ(with_train("optimizer = \"sgd\"").train.optimizer.momentum, 0.0);
  EXPECT_EQ(run.pipeline.chunks, 0);
  EXPECT_EQ(run.pipeline.max_ctas, 4);
  EXPECT_EQ(run.pipeline.timeout_ms, 600000);
  EXPECT_EQ(run.pipeline.start_timeout_ms, 600000);
  EXPECT_FALSE(run.pipeline.schedule_dialect.has_value());
  EXPECT_EQ(run.checkpoint.keep, 3);
  EXPECT_FALSE(run.checkpoint.background);
  EXPECT_EQ(run.checkpoint.timeout_ms, 24 * 3600 * 1000);
}

TEST(RunFile, ReadsAnImportedScheduleAndAPartitionByCost) {
  const TemporaryFolder folder;
  const PipelineSettings pipeline =
      load_run_file(folder.file("run.toml", std::string(model) + data + train +
                                                "[pipeline]\nschedule = \"lists/mine.csv\"\nschedule_dialect = "
                                                "\"torch-old\"\npartition = \"cost\"\nstart_timeout_ms = 70\n"))
          .pipeline;

  EXPECT_EQ(pipeline.schedule, (folder / "lists/mine.csv").string());
  EXPECT_EQ(pipeline.schedule_dialect, "torch-old");
  EXPECT_EQ(pipeline.partition, "cost");
  EXPECT_EQ(pipeline.start_timeout_ms, 70);
}

TEST(RunFile, ReadsAPrecisionByEitherName) {
  EXPECT_EQ(with_train("precision = \"mixed\"").train.dtype, "mixed");
  EXPECT_EQ(with_train("dtype = \"mixed\"").train.dtype, "mixed");
  EXPECT_EQ(with_train("precision = \"bfloat16\"").train.dtype, "bfloat16");
}

TEST(RunFile, ReadsSgd) {
  const RunFile run = with_train("optimizer = \"sgd\"\nmomentum = 0.9\nweight_decay = 0.01");

  EXPECT_EQ(run.train.optimizer.name, "sgd");
  EXPECT_EQ(run.train.optimizer.momentum, 0.9);
  EXPECT_EQ(run.train.optimizer.weight_decay, 0.01);
}

TEST(RunFile, ReadsValidationDataInOrderAndUnmasked) {
  const TemporaryFolder folder;
  const auto path = folder.file(
      "run.toml",
      std::string(model) +
          "[data]\ntokens = \"a.bin\"\nvalidation = [\"v.bin\", \"w*.bin\"]\ntoken_type = \"uint32\"\nseed = 6\n"
          "shuffle = \"windows\"\nlengths = [8, 4]\nbatch = 2\nmasked = [1]\n[evaluate]\nevery = 7\nmicrobatches = "
          "3\n" +
          train);

  const RunFile run = load_run_file(path);

  ASSERT_TRUE(run.validation.has_value());
  EXPECT_THAT(run.validation->tokens, ElementsAre(folder / "v.bin", folder / "w*.bin"));
  EXPECT_EQ(run.validation->token_type, "uint32");
  EXPECT_EQ(run.validation->seed, 6U);
  EXPECT_EQ(run.validation->shuffle, "none");
  EXPECT_TRUE(run.validation->masked.empty());
  EXPECT_EQ(run.validation->row_lengths, (Rows{{8, 8}, {4, 4}, {8, 8}}));
  EXPECT_EQ(run.evaluate.every, 7);
  EXPECT_EQ(load_run_file(path, "other.txt").validation->tokens, run.validation->tokens) << "only the data is replaced";
}

TEST(RunFile, DoesNotEvaluateWithoutValidationData) {
  EXPECT_FALSE(load(std::string(model) + data + train).validation.has_value());
}

TEST(RunFile, TextMayBeReplaced) {
  const TemporaryFolder folder;
  const auto path = folder.file("run.toml", std::string(model) + "[data]\ntokens = \"a.bin\"\nlengths = [2]\n" + train);

  const RunFile run = load_run_file(path, "my.txt");

  EXPECT_EQ(run.data.text, "my.txt");
  EXPECT_TRUE(run.data.tokens.empty());
}

// The run file's files determine the type of ids whose width no file gives; the validation's files stay if a text
// replaces the training data.
TEST(RunFile, ValidationKeepsItsFilesIfATextIsGiven) {
  const TemporaryFolder folder;
  const auto path = folder.file(
      "run.toml", std::string(model) +
                      "[data]\ntokens = \"a.bin\"\nvalidation = \"v.bin\"\ntoken_type = \"uint32\"\nlengths = [2]\n" +
                      train);

  const RunFile run = load_run_file(path, "my.txt");

  EXPECT_FALSE(run.data.token_type.has_value()) << "a text has one token a byte";
  ASSERT_TRUE(run.validation.has_value());
  EXPECT_THAT(run.validation->tokens, ElementsAre(folder / "v.bin"));
  EXPECT_FALSE(run.validation->text.has_value());
  EXPECT_EQ(run.validation->token_type, "uint32");
}

TEST(RunFile, EvaluatesAtTheEndByDefault) {
  const RunFile run = with_data("text = \"a\"\nvalidation = \"b\"\nlengths = [8, 4]");

  ASSERT_TRUE(run.validation.has_value());
  EXPECT_EQ(run.validation->row_lengths, (Rows{{8}, {4}}));
  EXPECT_EQ(run.evaluate.every, 0);
}

TEST(RunFile, ReadsWhereAndWhenCheckpointsAreWritten) {
  const TemporaryFolder folder;
  const auto path = folder.file(
      "run.toml", std::string(model) + data + train +
                      "[checkpoint]\nfolder = \"kept\"\nevery = 3\nkeep = 4\nbackground = true\ntimeout_ms = 9\n");

  const CheckpointSettings checkpoint = load_run_file(path).checkpoint;

  EXPECT_TRUE(checkpoint.asked);
  EXPECT_EQ(checkpoint.folder, folder / "kept");
  EXPECT_EQ(checkpoint.every, 3);
  EXPECT_EQ(checkpoint.keep, 4);
  EXPECT_TRUE(checkpoint.background);
  EXPECT_EQ(checkpoint.timeout_ms, 9);
}

TEST(RunFile, ATableWithoutAFolderRequestsCheckpoints) {
  const CheckpointSettings checkpoint = load(std::string(model) + data + train + "[checkpoint]\n").checkpoint;

  EXPECT_TRUE(checkpoint.asked);
  EXPECT_FALSE(checkpoint.folder.has_value());
  EXPECT_EQ(checkpoint.every, 0);
  EXPECT_FALSE(load(std::string(model) + data + train).checkpoint.asked);
}

TEST(RunFile, AcceptsOneLengthPerMicrobatchAndAMaskedFirst) {
  const RunFile run = with_data("text = \"a\"\nmicrobatches = 2\nmasked = [0]\nlengths = [3, 4]");

  EXPECT_EQ(run.microbatches(), 2);
  EXPECT_THAT(run.data.masked, ElementsAre(0));
}

// In time and memory independent of the numbers: each of these would otherwise take gigabytes, or forever.
TEST(RunFile, RefusesAStepBeyondTheSource) {
  const TemporaryFolder folder;
  folder.file("a.txt", std::string(1000, 'x'));
  const auto refusal = [&](const std::string& keys) {
    return error_of<InputError>(
        [&] { load_run_file(folder.file("run.toml", model + ("[data]\ntext = \"a.txt\"\n" + keys + "\n") + train)); });
  };

  for (const auto& [keys, needed] :
       {std::pair{"lengths = [8, 4]\nbatch = 1000000000", "12000000001"},
        {"lengths = [8, 4]\nmicrobatches = 2147483647", "12884901885"},
        {"lengths = [1]\nbatch = 9223372036854775807", "9223372036854775807"},
        {"lengths = [9223372036854775807, 9223372036854775807]", "9223372036854775807"},
        {"lengths = [[1, 9223372036854775807]]\nbatch = 2\nmicrobatches = 1000", "9223372036854775807"},
        {"lengths = [8, 4]\nmicrobatches = 167", "1005"}}) {
    EXPECT_THAT(refusal(keys), HasSubstr("a.txt is too short: it holds 1000 tokens, one step needs " +
                                         std::string(needed) + ". Give a longer text"))
        << keys;
  }
  EXPECT_THAT(refusal("lengths = [8]\nmicrobatches = 1000000000000"), HasSubstr("at most 2147483647"));
  EXPECT_THAT(refusal("lengths = [8]\nmicrobatches = 9223372036854775807"), HasSubstr("at most 2147483647"));
}

TEST(RunFile, RefusesALongStepWithAMissingSource) {
  EXPECT_THAT(error_of<InputError>([] { with_data("text = \"a.txt\"\nlengths = [8, 4]\nbatch = 1000000000"); }),
              HasSubstr("key data.lengths: asks for 2 microbatches of 1000000000 rows, but the file with their tokens "
                        "cannot be read"));
}

// A token takes a byte of the file and no memory, so the file may be larger than memory.
TEST(RunFile, RefusesAStepBeyondMemory) {
  const TemporaryFolder folder;
  std::filesystem::resize_file(folder.file("a.txt", ""), std::uintmax_t{1} << 42);
  const auto path = folder.file(
      "run.toml", std::string(model) + "[data]\ntext = \"a.txt\"\nlengths = [1]\nbatch = 4000000000000\n" + train);

  EXPECT_THAT(
      error_of<SystemError>([&] { load_run_file(path); }),
      ::testing::ContainsRegex("1 microbatches of 4000000000000 rows needs 29\\.1 TiB of memory, this machine has "
                               "[0-9.]+ .iB"));
}

TEST(RunFile, OptimizerMayBeReplacedByAKnownOne) {
  OptimizerSettings settings;

  settings.use("sgd");

  EXPECT_EQ(settings.name, "sgd");
  EXPECT_THAT(error_of<InputError>([&] { settings.use("adam"); }), HasSubstr("adamw, sgd"));
}

/// A file that must be refused, and texts that the message must contain: place, key, and the error.
struct Broken {
  const char* name;
  std::string text;
  std::vector<std::string> says;
};

void PrintTo(const Broken& broken, std::ostream* out) {
  *out << broken.name;
}

class BrokenRunFile : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenRunFile, IsRefused) {
  const std::string message = error_of<InputError>([&] { load(GetParam().text); });

  EXPECT_THAT(message, HasSubstr("run.toml"));
  for (const std::string& words : GetParam().says) EXPECT_THAT(message, HasSubstr(words));
}

std::string data_file(const std::string& keys) {
  return std::string(model) + "[data]\n" + keys + "\n" + train;
}
std::string train_file(const std::string& keys) {
  return std::string(model) + data + "[train]\n" + keys + "\n";
}
std::string steps_and(const std::string& keys) {
  return train_file("steps = 5\n" + keys);
}
std::string pipeline_file(const std::string& keys) {
  return std::string(model) + data + train + "[pipeline]\n" + keys + "\n";
}

INSTANTIATE_TEST_SUITE_P(
    , BrokenRunFile,
    ::testing::Values(
        Broken{"NoModel", std::string(data) + train, {"[model]"}},
        Broken{"NoData", std::string(model) + train, {"[data]"}},
        Broken{"NoTrain", std::string(model) + data, {"[train]"}},
        Broken{"NoConfig", std::string("[model]\n") + data + train, {"model.config"}},
        Broken{"MisspelledTable", std::string(model) + data + "[trian]\nsteps = 1\n", {"trian", "did you mean train"}},
        Broken{
            "UnknownTable", std::string(model) + data + train + "[recrod]\nlevel = \"full\"\n", {"recrod", "record"}},
        Broken{"UnknownKey", steps_and("warmup_step = 1"), {"warmup_step", "warmup_steps", ":8:"}},
        Broken{"MisspelledSteps", train_file("stepz = 5"), {"train.stepz", "did you mean steps?"}},
        Broken{"MisspelledConfig", std::string("[model]\nconfgi = \"a\"\n") + data + train, {"did you mean config?"}},
        Broken{"MisspelledText", data_file("txt = \"a\"\nlengths = [2]"), {"data.txt", "did you mean text?"}},
        Broken{"MisspelledLengths", data_file("text = \"a\"\nlenghts = [2]"), {"did you mean lengths?"}},
        Broken{"WrongType", steps_and("clip_norm = \"1\""), {":8:", "train.clip_norm"}},
        Broken{"NoText", data_file("lengths = [2]"), {"data.text"}},
        Broken{"TextAndTokens", data_file("text = \"a\"\ntokens = \"b\"\nlengths = [2]"), {":5:", "data.tokens"}},
        Broken{"TokenTypeOfAText", data_file("text = \"a\"\ntoken_type = \"uint16\"\nlengths = [2]"), {"token_type"}},
        Broken{"TokenType", data_file("tokens = \"a\"\ntoken_type = \"uint8\"\nlengths = [2]"), {"uint8", "uint16"}},
        Broken{"NoTokenFiles", data_file("tokens = []\nlengths = [2]"), {"data.tokens", "names no file"}},
        Broken{"TokensOfNumbers", data_file("tokens = [1]\nlengths = [2]"), {"data.tokens", "a string"}},
        Broken{"Shuffle", data_file("text = \"a\"\nshuffle = \"rows\"\nlengths = [2]"), {"none, windows"}},
        Broken{"EvaluateWithoutData",
               std::string(model) + data + train + "[evaluate]\nevery = 1\n",
               {"data.validation", "is missing"}},
        Broken{"EvaluateKey",
               data_file("text = \"a\"\nvalidation = \"b\"\nlengths = [2]") + "[evaluate]\nevry = 1\n",
               {"did you mean every?"}},
        Broken{"EvaluateNothing",
               data_file("text = \"a\"\nvalidation = \"b\"\nlengths = [2]") + "[evaluate]\nmicrobatches = 0\n",
               {"evaluate.microbatches", "at least 1"}},
        Broken{"EvaluateTooMuch",
               data_file("text = \"a\"\nvalidation = \"b\"\nlengths = [2]") + "[evaluate]\nmicrobatches = 1000001\n",
               {"at most 1000000"}},
        Broken{"ValidationOfAnotherKind",
               data_file("text = \"a\"\nvalidation = [\"b\"]\nlengths = [2]"),
               {"data.validation", "a string"}},
        Broken{"NoLengths", data_file("text = \"a\""), {"data.lengths"}},
        Broken{"EmptyLengths", data_file("text = \"a\"\nlengths = []"), {"data.lengths"}},
        Broken{"LengthZero", data_file("text = \"a\"\nlengths = [3, 0]"), {":5:", "data.lengths", "microbatch 1"}},
        Broken{"RowOfLengthZero", data_file("text = \"a\"\nbatch = 2\nlengths = [[3, 0]]"), {"data.lengths"}},
        Broken{"RowsOtherThanBatch", data_file("text = \"a\"\nbatch = 2\nlengths = [3, [1, 2, 3]]"), {"microbatch 1"}},
        Broken{"BatchZero", data_file("text = \"a\"\nbatch = 0\nlengths = [3]"), {"data.batch"}},
        Broken{"TooFewMicrobatches", data_file("text = \"a\"\nmicrobatches = 1\nlengths = [3, 4]"), {"microbatches"}},
        Broken{"SeedBelowZero", data_file("text = \"a\"\nseed = -1\nlengths = [3]"), {"data.seed"}},
        Broken{"MaskedBeyond", data_file("text = \"a\"\nmasked = [2]\nlengths = [3, 4]"), {"data.masked", "0 to 1"}},
        Broken{"MaskedBelowZero", data_file("text = \"a\"\nmasked = [-1]\nlengths = [3, 4]"), {"data.masked", "-1"}},
        Broken{"MaskedBeyondAfterARightOne",
               data_file("text = \"a\"\nmasked = [0, 9]\nlengths = [3, 4, 5]"),
               {"microbatch 9"}},
        Broken{"MaskedTwice", data_file("text = \"a\"\nmasked = [1, 1]\nlengths = [3, 4]"), {"data.masked"}},
        Broken{"AllMasked", data_file("text = \"a\"\nmasked = [0, 1]\nlengths = [3, 4]"), {"data.masked"}},
        Broken{"NoSteps", train_file(""), {"train.steps"}},
        Broken{"StepsZero", train_file("steps = 0"), {":7:", "train.steps"}},
        Broken{"Dtype", steps_and("dtype = \"float16\""), {"train.dtype", "float32, float64, bfloat16"}},
        Broken{"Optimizer", steps_and("optimizer = \"adam\""), {"train.optimizer", "adamw, sgd"}},
        Broken{"RateZero", steps_and("learning_rate = 0"), {"train.learning_rate"}},
        Broken{"WarmUpBeyondSteps", steps_and("warmup_steps = 6"), {"train.warmup_steps", "5"}},
        Broken{"WarmUpBelowZero", steps_and("warmup_steps = -1"), {"train.warmup_steps"}},
        Broken{"StartFactorZero", steps_and("start_factor = 0"), {"train.start_factor"}},
        Broken{"StartFactorAboveOne", steps_and("start_factor = 1.5"), {"train.start_factor"}},
        Broken{"FinalFactorBelowZero", steps_and("final_factor = -0.1"), {"train.final_factor"}},
        Broken{"FinalFactorAboveOne", steps_and("final_factor = 1.5"), {"train.final_factor"}},
        Broken{"DecayUnknown", steps_and("decay = \"norms\""), {"train.decay", "matrices"}},
        Broken{"PrecisionUnknown", steps_and("precision = \"half\""), {"train.precision", "bfloat16, mixed"}},
        Broken{"PrecisionTwice", steps_and("precision = \"mixed\"\ndtype = \"float32\""), {"train.dtype", "old name"}},
        Broken{
            "RecomputeUnknown", steps_and("recompute = \"all\""), {"train.recompute", "none, layer, attention, mlp"}},
        Broken{"NoThread", steps_and("threads = 0"), {"train.threads"}},
        Broken{"ThreadsBeyondReason", steps_and("threads = 5000"), {"train.threads", "1024"}},
        Broken{"ClipZero", steps_and("clip_norm = 0.0"), {"train.clip_norm"}},
        Broken{"ClipNan", steps_and("clip_norm = nan"), {"train.clip_norm"}},
        Broken{"ClipInfinite", steps_and("clip_norm = inf"), {"train.clip_norm"}},
        Broken{"BetaOne", steps_and("beta1 = 1.0"), {"train.beta1", "below 1"}},
        Broken{"BetaBelowZero", steps_and("beta2 = -0.1"), {"train.beta2"}},
        Broken{"EpsZero", steps_and("eps = 0"), {"train.eps"}},
        Broken{"WeightDecayBelowZero", steps_and("weight_decay = -0.1"), {"train.weight_decay"}},
        Broken{"MomentumOfAdamW", steps_and("momentum = 0.9"), {":8:", "train.momentum", "belongs to sgd"}},
        Broken{"BetaOfSgd", steps_and("optimizer = \"sgd\"\nbeta1 = 0.9"), {"train.beta1", "belongs to adamw"}},
        Broken{"EpsOfSgd", steps_and("optimizer = \"sgd\"\neps = 0.9"), {"train.eps", "belongs to adamw"}},
        Broken{"MomentumOne", steps_and("optimizer = \"sgd\"\nmomentum = 1"), {"train.momentum"}},
        Broken{"ChunksZero", pipeline_file("chunks = 0"), {"pipeline.chunks"}},
        Broken{"Granularity", pipeline_file("granularity = \"halves\""), {"pipeline.granularity", "layer, half"}},
        Broken{"Partition", pipeline_file("partition = \"even\""), {"pipeline.partition", "uniform, cost"}},
        Broken{"PartitionAndBalance", pipeline_file("partition = \"cost\"\nbalance = [1]"), {"pipeline.balance"}},
        Broken{"BalanceBelowZero", pipeline_file("balance = [2, -1]"), {"pipeline.balance"}},
        Broken{"BalanceEmpty", pipeline_file("balance = []"), {"pipeline.balance"}},
        Broken{"Transport", pipeline_file("transport = \"tcp\""), {"pipeline.transport", "mpi, threads, nccl"}},
        Broken{"MaxCtasBelowZero", pipeline_file("max_ctas = -1"), {"pipeline.max_ctas", "at least 0"}},
        Broken{"MaxCtasBeyondNccl", pipeline_file("max_ctas = 65"), {"pipeline.max_ctas", "at most 64"}},
        Broken{"MaxCtasText", pipeline_file("max_ctas = \"4\""), {"pipeline.max_ctas", "integer"}},
        Broken{"TimeoutZero", pipeline_file("timeout_ms = 0"), {"pipeline.timeout_ms"}},
        Broken{"StartTimeoutZero", pipeline_file("start_timeout_ms = 0"), {"pipeline.start_timeout_ms"}},
        Broken{"TimeoutBeyondTheClock",
               pipeline_file("timeout_ms = 9223372036854775807"),
               {"pipeline.timeout_ms", "at most 604800000"}},
        Broken{"ChunksBeyondInt32", pipeline_file("chunks = 2147483648"), {"pipeline.chunks", "2147483648"}},
        Broken{"Level", std::string(model) + data + train + "[record]\nlevel = \"all\"\n", {"record.level", "summary"}},
        Broken{"RecordKey", std::string(model) + data + train + "[record]\nlevl = \"full\"\n", {"did you mean level?"}},
        Broken{"CheckpointKey",
               std::string(model) + data + train + "[checkpoint]\nevry = 1\n",
               {"checkpoint.evry", "did you mean every?"}},
        Broken{"CheckpointFolderEmpty",
               std::string(model) + data + train + "[checkpoint]\nfolder = \"\"\n",
               {"checkpoint.folder", "must be a string that is not empty"}},
        Broken{"CheckpointEveryBelowZero",
               std::string(model) + data + train + "[checkpoint]\nevery = -1\n",
               {"checkpoint.every"}},
        Broken{"CheckpointKeepNone",
               std::string(model) + data + train + "[checkpoint]\nkeep = 0\n",
               {"checkpoint.keep", "at least 1"}},
        Broken{"CheckpointTimeoutZero",
               std::string(model) + data + train + "[checkpoint]\ntimeout_ms = 0\n",
               {"checkpoint.timeout_ms", "at least 1"}},
        Broken{"RateNan", steps_and("learning_rate = nan"), {"train.learning_rate"}},
        Broken{"RateInfinite", steps_and("learning_rate = inf"), {"train.learning_rate"}},
        Broken{"NoToml", "[model\n", {":1:"}}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace plumbline
