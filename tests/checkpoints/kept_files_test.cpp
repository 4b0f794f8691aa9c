// SPDX-License-Identifier: BSD-3-Clause
// Other files that a run keeps: the model's config, metrics.csv, the record of a resumed run.
#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "pipeline/launch.hpp"
#include "record/record.hpp"
#include "reference/trainer.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/numbers.hpp"
#include "support/safetensors.hpp"
#include "tests/checkpoints/train_on.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"
#include "training/checkpoint/checkpoint_file.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/checkpoint/metrics_file.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class KeptFiles : public ::testing::Test {
 protected:
  fs::path run_file(const std::string& train = "") {
    return folder_.file("run.toml", testing::run_text("lengths = [9, 4, 6]\nbatch = 2\n",
                                                      "steps = 3\nwarmup_steps = 1\nclip_norm = 1.0\n" + train));
  }

  ReferenceOptions reference(const fs::path& checkpoints) {
    ReferenceOptions options;
    options.run_file = run_file();
    options.checkpoint.folder = checkpoints;
    options.progress = false;
    return options;
  }

  PipelineOptions pipeline(int ranks, const fs::path& checkpoints) {
    PipelineOptions options;
    options.run_file = run_file();
    options.checkpoint.folder = checkpoints;
    options.transport = "threads";
    options.world = ranks;
    options.progress = false;
    options.make_transports = limited_threads;
    return options;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(KeptFiles, TheConfigHasTheDtypeOfTheSavedTensors) {
  const std::map<std::string, std::string> dtypes = {
      {"float32", "float32"}, {"float64", "float64"}, {"bfloat16", "bfloat16"}, {"mixed", "float32"}};
  for (const auto& [precision, dtype] : dtypes) {
    ReferenceOptions options = reference(folder_ / precision);
    options.run_file = run_file("precision = \"" + precision + "\"\n");
    train_reference(options);
    const fs::path saved = folder_ / precision / "latest";
    const Json config = read_json(saved / "config.json");
    EXPECT_EQ(config.at("torch_dtype"), dtype);
    const SafetensorsFile tensors(saved / "model-00001-of-00001.safetensors");
    for (const auto& [name, entry] : tensors.entries()) EXPECT_EQ(entry.dtype, dtype) << name;
    EXPECT_EQ(config.at("hidden_size"), 64) << "the rest is the model's own";
  }
}

TEST_F(KeptFiles, TheConfigHasOneNameForTheDtype) {
  Json config = read_json(testing::fixtures_path() + "/models/stories260k/config.json");
  config["dtype"] = "bfloat16";
  write_json(folder_ / "config.json", config);
  std::string text = testing::bytes_of(run_file());
  const std::string fixture = testing::fixtures_path() + "/models/stories260k/config.json";
  ReferenceOptions options = reference(folder_ / "c");
  options.run_file =
      folder_.file("run.toml", text.replace(text.find(fixture), fixture.size(), folder_ / "config.json"));
  train_reference(options);
  const Json saved = read_json(folder_ / "c/latest/config.json");
  EXPECT_FALSE(saved.contains("dtype")) << "transformers accepts either of the two names";
  EXPECT_EQ(saved.at("torch_dtype").get<std::string>(), "float32");
}

TEST_F(KeptFiles, TheIndexListsEveryTensor) {
  ASSERT_EQ(train_pipeline(pipeline(3, folder_ / "c")), 0);
  const fs::path saved = folder_ / "c/latest";
  Json files = Json::object();
  std::size_t bytes = 0;
  for (const char* file :
       {"model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors"}) {
    const SafetensorsFile tensors(saved / file);
    for (const auto& [name, entry] : tensors.entries()) {
      EXPECT_FALSE(files.contains(name)) << name;
      files[name] = file;
      bytes += entry.bytes.size();
    }
  }
  ASSERT_EQ(files.size(), 47U);
  const Json index = read_json(saved / "model.safetensors.index.json");
  EXPECT_TRUE(same_content(index.at("weight_map"), files));
  EXPECT_EQ(index.at("metadata").at("total_size"), bytes);
}

TEST_F(KeptFiles, MetricsOfTheReferenceMatchItsRecord) {
  ReferenceOptions options = reference(folder_ / "c");
  options.record = folder_ / "record";
  train_reference(options);

  const fs::path metrics = folder_ / "c" / "metrics.csv", steps = folder_ / "record" / "rank-0" / "steps.csv";
  for (const char* same : {"step", "loss", "gradient_norm", "clip_coefficient", "learning_rate", "tokens"}) {
    EXPECT_EQ(column(metrics, same), column(steps, same)) << same;
  }
}

TEST_F(KeptFiles, MetricsAreInTheRecordWithoutACheckpointFolder) {
  PipelineOptions options = pipeline(2, folder_ / "c");
  options.checkpoint.folder.reset();
  options.record = folder_ / "record";
  ASSERT_EQ(train_pipeline(options), 0);

  EXPECT_EQ(column(folder_ / "record" / "metrics.csv", "loss"),
            column(folder_ / "record" / "rank-1" / "steps.csv", "loss"));
  EXPECT_THAT(column(folder_ / "record" / "metrics.csv", "saving_seconds"), ElementsAre("0", "0", "0"));
  EXPECT_FALSE(fs::exists(folder_ / "c"));
}

TEST_F(KeptFiles, MetricsMatchTheRecord) {
  PipelineOptions options = pipeline(2, folder_ / "c");
  options.record = folder_ / "record";
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_EQ(train_pipeline(options), 0);
  const double seconds_of_all = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();

  const fs::path metrics = folder_ / "c" / "metrics.csv", steps = folder_ / "record" / "rank-1" / "steps.csv";
  EXPECT_THAT(column(metrics, "step"), ElementsAre("0", "1", "2"));
  for (const char* same : {"loss", "gradient_norm", "clip_coefficient", "learning_rate", "tokens"}) {
    EXPECT_EQ(column(metrics, same), column(steps, same)) << same;
  }
  EXPECT_THAT(column(metrics, "evaluation_loss"), ElementsAre("", "", "")) << "evaluation was not requested";
  const auto numbers = [&](const char* name) {
    std::vector<double> found;
    for (const std::string& cell : column(metrics, name)) found.push_back(parse_double(cell).value());
    return found;
  };
  const auto seconds = numbers("seconds"), rates = numbers("tokens_per_second"), saving = numbers("saving_seconds");
  const auto tflops = numbers("tflops_per_device");
  EXPECT_THAT(column(metrics, "flops_utilization"), ::testing::Each("")) << "the peak is unknown";
  const auto waited = numbers("waited_seconds"), epochs = numbers("epochs");
  std::uintmax_t corpus = 0;  // bytes, which are its tokens
  for (const auto& file : fs::directory_iterator(testing::fixtures_path() + "/corpus")) corpus += file.file_size();
  for (std::size_t step = 0; step < seconds.size(); ++step) {
    EXPECT_GE(seconds[step], parse_double(column(steps, "seconds")[step]).value())
        << "which ends before its row is written";
    EXPECT_LT(seconds[step], seconds_of_all);
    EXPECT_GE(waited[step], 0);
    EXPECT_LE(waited[step], seconds[step]);
    EXPECT_DOUBLE_EQ(epochs[step], static_cast<double>(step + 1) * 38 / static_cast<double>(corpus));
    EXPECT_DOUBLE_EQ(rates[step], 38 / seconds[step]) << "two rows of 9, 4 and 6 tokens";
    EXPECT_GT(tflops[step], 0);
    EXPECT_DOUBLE_EQ(tflops[step] * seconds[step], tflops[0] * seconds[0]) << "the same work in every step";
  }
  EXPECT_EQ(saving[0], 0) << "nothing was saved there";
  EXPECT_GT(saving[2], 0);
}

TEST_F(KeptFiles, SavingSecondsAreZeroWithoutACheckpoint) {
  ReferenceOptions options = reference(folder_ / "c");
  std::string text = testing::bytes_of(options.run_file);
  options.run_file = folder_.file("run.toml", text.replace(text.find("steps = 3"), 9, "steps = 4"));
  options.checkpoint.every = 2;
  train_reference(options);

  const auto saving = column(folder_ / "c" / "metrics.csv", "saving_seconds");
  EXPECT_THAT(saving, ElementsAre("0", ::testing::Ne("0"), "0", ::testing::Ne("0")));
}

TEST_F(KeptFiles, ProgressShowsTheNumbersOfTheLastStep) {
  std::string text = testing::bytes_of(run_file());
  const std::string validation =
      "[data]\nvalidation = \"" + testing::fixtures_path() + "/corpus/02-the-river-survey.txt\"\n";
  const fs::path run = folder_.file("evaluated.toml", text.replace(text.find("[data]\n"), 7, validation));
  ReferenceOptions one = reference(folder_ / "one");
  PipelineOptions ranks = pipeline(2, folder_ / "ranks");
  one.run_file = ranks.run_file = run;
  one.progress = ranks.progress = true;

  for (const char* name : {"one", "ranks"}) {
    ::testing::internal::CaptureStderr();
    name == std::string("one") ? static_cast<void>(train_reference(one)) : static_cast<void>(train_pipeline(ranks));
    const std::string said = ::testing::internal::GetCapturedStderr();

    const auto last = [&](const char* of, const char* format) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), format,
                    parse_double(column(folder_ / name / "metrics.csv", of).back()).value());
      return std::string(number.data());
    };
    EXPECT_THAT(said,
                HasSubstr("step 3/3  loss " + last("loss", "%.4f") + "  evaluation " + last("evaluation_loss", "%.4f") +
                          "  rate " + last("learning_rate", "%.2e") + "  epoch " + last("epochs", "%.2f") + "  "))
        << name;
  }
}

TEST_F(KeptFiles, TheRecordOfAResumedRunNamesItsOrigin) {
  PipelineOptions first = pipeline(3, folder_ / "c");
  first.checkpoint.stop_after = 1;
  ASSERT_EQ(train_pipeline(first), 0);
  ASSERT_THAT(whole_checkpoints(folder_ / "c"), ElementsAre(checkpoint_path(folder_ / "c", 1)));
  const CheckpointFile saved = read_checkpoint_file(checkpoint_path(folder_ / "c", 1));

  ReferenceOptions second = reference(folder_ / "d");
  second.checkpoint.resume = folder_ / "c" / "latest";
  second.record = folder_ / "record";
  train_reference(second);

  const Record record = read_record(folder_ / "record");
  EXPECT_EQ(record.manifest.first_step, 1);
  ASSERT_TRUE(record.manifest.resumed_from);
  EXPECT_EQ(record.manifest.resumed_from->run_id, saved.written_by.at("run_id").get<std::string>());
  EXPECT_EQ(record.manifest.steps, 3);
  EXPECT_EQ(record.ranks[0].steps.front().step, 1);
  EXPECT_FALSE(record.ranks[0].saved.empty());
  const auto starts = std::ranges::count_if(record.ranks[0].tensors, [](const TensorRow& row) { return row.step < 0; });
  const auto parameters = std::ranges::count_if(
      record.ranks[0].tensors, [](const TensorRow& row) { return row.step == 1 && row.kind == "parameter"; });
  EXPECT_EQ(starts, 3 * parameters) << "parameters and both moments";

  second.checkpoint.resume = folder_ / "d" / "latest";
  second.record = folder_ / "another";
  EXPECT_THAT(error_of<InputError>([&] { train_reference(second); }), HasSubstr("none is left to record"));
  EXPECT_FALSE(fs::exists(folder_ / "another" / "manifest.json"));
}

// metrics.csv grows with the run: a limit for files that people write would refuse to resume it.
TEST_F(KeptFiles, RowsOfALongRunAreCounted) {
  constexpr std::int64_t rows = 200'000;
  std::string text = "step\n";
  for (std::int64_t row = 0; row < rows; ++row) text += std::string(99, '1') + "\n";
  ASSERT_GT(text.size(), most_by_hand);
  write_file(folder_ / "metrics.csv", text);

  EXPECT_EQ(metrics_rows(folder_.path()), rows);
}

}  // namespace
}  // namespace plumbline
