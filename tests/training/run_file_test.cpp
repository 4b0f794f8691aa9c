// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_file.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/json_text.hpp"
#include "tests/approved.hpp"
#include "tests/temporary_folder.hpp"
#include "training/run_keys.hpp"

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
  EXPECT_FALSE(run.checkpoint.has_value());
  EXPECT_EQ(CheckpointSettings().keep, 3);
  EXPECT_FALSE(CheckpointSettings().background);
  EXPECT_EQ(CheckpointSettings().timeout_ms, 24 * 3600 * 1000);
}

TEST(RunFile, ReadsAnImportedScheduleAndAPartitionByCost) {
  const TemporaryFolder folder;
  const PipelineSettings pipeline =
      load_run_file(
          folder.file("run.toml",
                      std::string(model) + data + train +
                          "[pipeline]\nschedule = \"lists/mine.csv\"\npartition = \"cost\"\nstart_timeout_ms = 70\n"))
          .pipeline;

  EXPECT_EQ(pipeline.schedule, (folder / "lists/mine.csv").string());
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
  EXPECT_EQ(load_run_file(path, "other.txt").validation->tokens, run.validation->tokens)
      << "only the training data is replaced";
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

  EXPECT_FALSE(run.data.token_type.has_value()) << "a text has one token per byte";
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

  const CheckpointSettings checkpoint = load_run_file(path).checkpoint.value();

  EXPECT_EQ(checkpoint.folder, folder / "kept");
  EXPECT_EQ(checkpoint.every, 3);
  EXPECT_EQ(checkpoint.keep, 4);
  EXPECT_TRUE(checkpoint.background);
  EXPECT_EQ(checkpoint.timeout_ms, 9);
}

TEST(RunFile, ATableWithoutAFolderRequestsCheckpoints) {
  const CheckpointSettings checkpoint = load(std::string(model) + data + train + "[checkpoint]\n").checkpoint.value();

  EXPECT_FALSE(checkpoint.folder.has_value());
  EXPECT_EQ(checkpoint.every, 0);
  EXPECT_FALSE(load(std::string(model) + data + train).checkpoint.has_value());
}

TEST(RunFile, AcceptsOneLengthPerMicrobatchAndAMaskedFirst) {
  const RunFile run = with_data("text = \"a\"\nmicrobatches = 2\nmasked = [0]\nlengths = [3, 4]");

  EXPECT_EQ(run.microbatches(), 2);
  EXPECT_THAT(run.data.masked, ElementsAre(0));
}

// Time and memory must not depend on the numbers: each of these would otherwise take gigabytes, or forever.
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
  EXPECT_THAT(refusal("lengths = [8]\nmicrobatches = 1000000000000"), HasSubstr("from 1 to 2147483647"));
  EXPECT_THAT(refusal("lengths = [8]\nmicrobatches = 9223372036854775807"), HasSubstr("from 1 to 2147483647"));
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

TEST(RunFile, SchemaMatchesTheReadersKeys) {
  testing::expect_approved("../../docs/schemas/run.schema.json", json_text(run_file_schema(), 2) + "\n");
}

// Cases use the tables of a valid file, unless they have their own or leave them out.
TEST(RunFile, RefusesInvalidRunFiles) {
  testing::expect_answers("run-files.txt", [](const std::string& input) {
    std::string text;
    for (const std::string table : {model, data, train})
      if (input.find(table.substr(0, table.find('\n'))) == std::string::npos) text += table;
    text += input.starts_with("-") ? input.substr(input.find('\n') + 1) : input;
    const TemporaryFolder folder;
    const std::string said = error_of<InputError>([&] { load_run_file(folder.file("run.toml", text)); });
    EXPECT_TRUE(said.starts_with((folder / "run.toml").string())) << said;
    return said.substr(folder.path().string().size() + 1);
  });
}

TEST(RunFile, ReadsTheCurveOfTheLearningRate) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& more) {
    return load_run_file(
        folder.file("run.toml", std::string(model) + data + "[train]\nsteps = 9\nwarmup_steps = 2\n" + more));
  };
  EXPECT_EQ(with("").train.curve, "cosine");
  EXPECT_EQ(with("curve = \"constant\"").train.curve, "constant");
  EXPECT_EQ(with("curve = \"wsd\"\ndecay_steps = 7").train.decay_steps, 7);
  EXPECT_EQ(with("peak_tflops = 67").train.peak_tflops, 67);
  const auto refusal = [&](const std::string& more) { return error_of<InputError>([&] { with(more); }); };
  EXPECT_THAT(refusal("curve = \"cosin\""), HasSubstr("train.curve"));
  EXPECT_THAT(refusal("curve = \"wsd\""), HasSubstr("the curve wsd needs 1 to 7, the steps after the warm-up"));
  EXPECT_THAT(refusal("curve = \"wsd\"\ndecay_steps = 8"), HasSubstr("is 8; the curve wsd needs 1 to 7"));
  EXPECT_THAT(refusal("decay_steps = 2"), HasSubstr("is a key of the curve wsd"));
  EXPECT_THAT(refusal("curve = \"constant\"\nfinal_factor = 0.1"), HasSubstr("the curve constant has no end"));
  EXPECT_THAT(refusal("peak_tflops = 0"), HasSubstr("train.peak_tflops"));
}

}  // namespace
}  // namespace plumbline
