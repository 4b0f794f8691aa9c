// SPDX-License-Identifier: BSD-3-Clause
#include "reference/export.hpp"

#include <gmock/gmock.h>

#include "record/digest.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A run of canary-tied.toml, exported and recorded.
class Export : public ::testing::Test {
 protected:
  ReferenceOptions options() const {
    ReferenceOptions options;
    options.run_file = testing::fixtures_path() + "/runs/canary-tied.toml";
    options.record = folder_ / "record";
    options.progress = false;
    return options;
  }

  testing::TemporaryFolder folder_;
};

std::string digest_of(const SafetensorsEntry& entry) {
  return tensor_digest(entry.dtype, entry.shape, entry.bytes);
}

TEST_F(Export, ContainsInitialWeightsAndData) {
  export_run(options(), folder_ / "out");
  train_reference(options());

  const RankRecord rank = read_record(folder_ / "record").ranks.front();
  const SafetensorsFile weights(folder_ / "out" / "model.safetensors"), data(folder_ / "out" / "data.safetensors");
  std::size_t compared = 0;
  for (const TensorRow& row : rank.tensors) {
    if (row.step != -1 || row.name == "lm_head.weight") continue;
    EXPECT_EQ(digest_of(weights.at(row.name)), row.digest) << row.name;
    ++compared;
  }
  EXPECT_EQ(weights.entries().size(), compared) << "a tied weight is written once";
  for (const MicrobatchRow& row : rank.microbatches) {
    const std::string place = std::to_string(row.step) + "/" + std::to_string(row.microbatch);
    const SafetensorsEntry &ids = data.at("ids/" + place), &labels = data.at("labels/" + place);
    std::vector<std::byte> both(ids.bytes.begin(), ids.bytes.end());
    both.insert(both.end(), labels.bytes.begin(), labels.bytes.end());
    EXPECT_EQ(tensor_digest("int64", {2, row.batch, row.sequence_length}, both), row.data_digest) << place;
  }
  EXPECT_EQ(data.entries().size(), 2 * rank.microbatches.size());
  EXPECT_THAT(read_file(folder_ / "out" / "accumulation.csv"),
              StartsWith("unit,microbatch\nembed_tokens,0\nembed_tokens,1\n"));
  EXPECT_EQ(read_file(folder_ / "out" / "config.json"),
            read_file(testing::fixtures_path() + "/models/stories260k/config.json"));
}

TEST_F(Export, PrintsItsSizeAndSplitsLargeFiles) {
  ReferenceOptions many = options();
  many.progress = true;
  many.run_file =
      folder_.file("run.toml", "[model]\nconfig = \"" + testing::fixtures_path() +
                                   "/models/stories260k/config.json\"\n[data]\ntext = \"" + testing::fixtures_path() +
                                   "/corpus/\"\nlengths = [1, 2]\n[train]\nsteps = 20000\n");
  ::testing::internal::CaptureStderr();

  export_run(many, folder_ / "out");

  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(HasSubstr("writes ids and labels of 20000 steps, about "),
                               HasSubstr(" in 5 files of data and one of weights")));
  const SafetensorsFile first(folder_ / "out" / "data-00001-of-00005.safetensors"),
      last(folder_ / "out" / "data-00005-of-00005.safetensors");
  EXPECT_EQ(first.entries().size(), 16384U);
  EXPECT_EQ(last.entries().size(), 80000U - 4 * 16384U);
  EXPECT_TRUE(first.entries().contains("labels/4095/1"));
  EXPECT_TRUE(last.entries().contains("ids/16384/0"));
  EXPECT_TRUE(last.entries().contains("labels/19999/1"));
}

TEST_F(Export, ContainsTheMastersInMixedPrecision) {
  ReferenceOptions mixed = options();
  mixed.run_file = testing::fixtures_path() + "/runs/mixed-untied.toml";

  export_run(mixed, folder_ / "out");

  train_reference(mixed);
  const RankRecord rank = read_record(folder_ / "record").ranks.front();
  const SafetensorsFile weights(folder_ / "out" / "model.safetensors");
  for (const TensorRow& row : rank.tensors) {
    if (row.step != -1 || row.kind != "parameter") continue;
    EXPECT_EQ(digest_of(weights.at(row.name)), row.digest) << row.name;
  }
}

TEST_F(Export, UsesTheGivenOrder) {
  ReferenceOptions given = options();
  export_run(given, folder_ / "first");
  std::string order = read_file(folder_ / "first" / "accumulation.csv");
  order.replace(order.find("norm,0\nnorm,1\n"), 14, "norm,1\nnorm,0\n");
  given.accumulation = folder_.file("order.csv", order);

  export_run(given, folder_ / "second");

  EXPECT_EQ(read_file(folder_ / "second" / "accumulation.csv"), order);
}

TEST_F(Export, RefusesAFolderInUseAndAnOrderOfAnotherRun) {
  folder_.file("used/notes.txt", "mine");
  EXPECT_THAT(testing::error_of<InputError>([&] { export_run(options(), folder_ / "used"); }),
              HasSubstr("is not empty"));

  ReferenceOptions given = options();
  given.accumulation = folder_.file("order.csv", "unit,microbatch\nnorm,0\n");
  EXPECT_THAT(testing::error_of<InputError>([&] { export_run(given, folder_ / "new"); }), HasSubstr("lists"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new"));
}

}  // namespace
}  // namespace plumbline
