// SPDX-License-Identifier: BSD-3-Clause
#include "reference/trainer.hpp"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include "record/record.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/memory_plan.hpp"
#include "training/run.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

const std::string quick = testing::fixtures_path() + "/runs/quick.toml";

Record train(const std::filesystem::path& folder, std::optional<std::filesystem::path> accumulation = std::nullopt,
             const std::string& run = quick) {
  ReferenceOptions options;
  options.run_file = run;
  options.record = folder;
  options.accumulation = std::move(accumulation);
  options.command = {"test"};
  options.progress = false;
  train_reference(options);
  return read_record(folder);
}

/// Digests by (step, kind, name).
std::map<std::string, std::string> digests(const Record& record, const std::string& kind) {
  std::map<std::string, std::string> found;
  for (const TensorRow& row : record.ranks.front().tensors) {
    if (row.kind == kind) found[std::to_string(row.step) + "/" + row.name] = row.digest;
  }
  return found;
}

std::filesystem::path order_file(const std::filesystem::path& path, bool ascending) {
  std::ofstream out(path);
  out << "unit,microbatch\n";
  for (const char* unit :
       {"embed_tokens", "layers.0", "layers.1", "layers.2", "layers.3", "layers.4", "norm", "lm_head"}) {
    for (int i = 0; i < 4; ++i) out << unit << ',' << (ascending ? i : 3 - i) << '\n';
  }
  return path;
}

TEST(ReferenceTrainer, WritesACompleteRecordWithEveryBoundary) {
  const testing::TemporaryFolder folder;

  const Record record = train(folder.path() / "record");

  EXPECT_EQ(record.manifest.role, "reference");
  EXPECT_EQ(record.ranks.front().steps.size(), 3U);
  EXPECT_EQ(record.ranks.front().boundaries.size(), 3U * 4 * 7 * 2) << "steps, microbatches, cuts, directions";
  EXPECT_EQ(record.ranks.front().exit->status, "ok");
  EXPECT_TRUE(record.ranks.front().traffic.empty());
  for (const TensorRow& row : record.ranks.front().tensors) {
    EXPECT_TRUE(row.step >= 0 || row.kind == "parameter") << "before the first step there are no moments";
  }
  std::map<std::string, std::int64_t> peaks;
  for (const ActionRow& row : record.ranks.front().actions) peaks[row.action] = row.peak_bytes.value_or(0);
  EXPECT_LT(peaks.at("0F3"), peaks.at("0F0")) << "its own microbatch is the shortest";
  EXPECT_EQ(record.schedule_csv, "0F0,0B0,0F1,0B1,0F2,0B2,0F3,0B3\n");
}

// With few tokens, the largest are the gradient of the head in its backward pass, and the copies for the dump.
TEST(ReferenceTrainer, TakesThePlannedMemory) {
  const testing::TemporaryFolder folder;
  for (const std::string precision : {"float32", "bfloat16", "mixed"}) {
    const auto file =
        folder.file(precision + ".toml", "[model]\nconfig = \"" + testing::fixtures_path() +
                                             "/models/stories260k/config.json\"\n[data]\ntext = "
                                             "\"" +
                                             testing::fixtures_path() +
                                             "/corpus\"\nlengths = [2, 3]\n[train]\nsteps = 2\nprecision = \"" +
                                             precision + "\"\n[record]\nlevel = \"dump\"\n");
    const auto run = load_run(file, std::nullopt);
    const MemoryPlan plan = plan_one_device(run);

    const Record record = train(folder / precision, std::nullopt, file.string());

    const MemoryRow& taken = record.ranks.front().memory.back();
    const auto all = static_cast<double>(*taken.peak_bytes), passes = static_cast<double>(*taken.activation_peak_bytes);
    EXPECT_LE(plan.total(), *taken.peak_bytes) << precision;
    EXPECT_GT(static_cast<double>(plan.total()), 0.95 * all) << precision;
    EXPECT_LE(plan.activations, *taken.activation_peak_bytes) << precision;
    EXPECT_GT(static_cast<double>(plan.activations), 0.7 * passes) << precision;
  }
}

TEST(ReferenceTrainer, GivesTheSameBitsTwice) {
  const testing::TemporaryFolder folder;

  const Record a = train(folder.path() / "a");
  const Record b = train(folder.path() / "b");

  EXPECT_EQ(digests(a, "parameter"), digests(b, "parameter"));
  EXPECT_EQ(digests(a, "gradient"), digests(b, "gradient"));
  EXPECT_NE(a.manifest.run_id, b.manifest.run_id);
}

TEST(ReferenceTrainer, SavedBytesMatchTheClosedForms) {
  const testing::TemporaryFolder folder;

  const Record record = train(folder.path() / "record");

  constexpr std::int64_t hidden = 64, kv = 32, intermediate = 172, heads = 8, vocabulary = 512;
  std::size_t inspected = 0;
  for (const SavedRow& row : record.ranks.front().saved) {
    const MicrobatchRow& data = record.ranks.front().microbatches[static_cast<std::size_t>(row.microbatch)];
    const std::int64_t tokens = data.batch * data.sequence_length;
    std::int64_t expected = 0;
    if (row.unit.starts_with("layers.")) {
      expected = 4 * tokens * (8 * hidden + 2 * kv + 4 * intermediate + heads + 2);
    } else if (row.unit == "norm") {
      expected = 4 * tokens * (2 * hidden + 1);
    } else if (row.unit == "lm_head") {
      expected = 4 * tokens * (vocabulary + hidden);
    }
    EXPECT_EQ(row.saved_bytes, expected) << row.unit << ", microbatch " << row.microbatch;
    ++inspected;
  }
  EXPECT_EQ(inspected, 4U * 8);
}

TEST(ReferenceTrainer, MeasuresASplitBackwardUnlessDisabled) {
  const testing::TemporaryFolder folder;
  ReferenceOptions options;
  options.run_file = quick;
  options.record = folder.path() / "without";
  options.measure_split_backward = false;
  options.command = {"test"};
  options.progress = false;
  train_reference(options);

  const Record with = train(folder.path() / "with"), without = read_record(options.record);
  ASSERT_EQ(with.ranks.front().saved.size(), without.ranks.front().saved.size());
  for (std::size_t i = 0; i < with.ranks.front().saved.size(); ++i) {
    const SavedRow &measured = with.ranks.front().saved[i], &empty = without.ranks.front().saved[i];
    EXPECT_TRUE(measured.input_bytes && measured.retained_bytes && measured.weight_bytes);
    EXPECT_FALSE(empty.input_bytes || empty.retained_bytes || empty.weight_bytes);
    EXPECT_EQ(measured.saved_bytes, empty.saved_bytes);
    EXPECT_EQ(measured.backward_bytes, empty.backward_bytes);
  }
  EXPECT_EQ(digests(with, "parameter"), digests(without, "parameter"));
}

TEST(ReferenceTrainer, UsesTheConfiguredNumberOfThreads) {
  const testing::TemporaryFolder folder;
  std::string text = read_file(quick);
  for (auto at = text.find("../"); at != std::string::npos; at = text.find("../", at))
    text.replace(at, 3, testing::fixtures_path() + "/");
  const Record record =
      train(folder.path() / "record", std::nullopt, folder.file("run.toml", text + "threads = 2\n").string());
  at::set_num_threads(1);

  EXPECT_EQ(record.manifest.json.at("environment").at("compute_threads"), 2);
}

TEST(ReferenceTrainer, LearnsInBfloat16) {
  const testing::TemporaryFolder folder;

  const Record record =
      train(folder.path() / "record", {}, testing::fixtures_path() + "/runs/stories260k-sgd-bf16.toml");

  const RankRecord& rank = record.ranks.front();
  const float first = rank.steps.front().loss.value(), last = rank.steps.back().loss.value();
  EXPECT_NEAR(first, std::log(512.0F), 0.05F);  // logits near 0 at the start: ln V
  EXPECT_LT(last, first - 1) << "in float32 five steps bring it from 6.24 to 4.34";
  for (const TensorRow& row : rank.tensors) EXPECT_EQ(row.dtype, "bfloat16") << row.kind << " " << row.name;
  for (const BoundaryRow& row : rank.boundaries) {
    EXPECT_EQ(row.dtype, "bfloat16");
    EXPECT_EQ(row.bytes, 2 * row.shape[0] * row.shape[1] * row.shape[2]);
  }
}

TEST(ReferenceTrainer, SumsInTheOrderOfAFile) {
  const testing::TemporaryFolder folder;
  const Record plain = train(folder.path() / "plain");

  const Record ascending = train(folder.path() / "up", order_file(folder.path() / "up.csv", true));
  const Record descending = train(folder.path() / "down", order_file(folder.path() / "down.csv", false));

  EXPECT_EQ(digests(ascending, "gradient"), digests(plain, "gradient"));
  EXPECT_NE(digests(descending, "gradient"), digests(plain, "gradient")) << "the order must show in the bits";
  EXPECT_EQ(descending.manifest.accumulation, "listed");
  EXPECT_FALSE(descending.manifest.accumulation_digest.empty());
  for (std::size_t step = 0; step < 3; ++step) {
    EXPECT_EQ(descending.ranks.front().memory.at(step).gradient_bytes,
              plain.ranks.front().memory.at(step).gradient_bytes)
        << "the step frees what it kept of each microbatch";
  }
}

TEST(ReferenceTrainer, AddsTheSumsOfGroupsInOrder) {
  const testing::TemporaryFolder folder;
  const auto grouped = [&](const std::string& name, const std::vector<int>& group_of) {
    std::string text = "unit,microbatch,group\n";
    for (const char* unit :
         {"embed_tokens", "layers.0", "layers.1", "layers.2", "layers.3", "layers.4", "norm", "lm_head"}) {
      for (int i = 0; i < 4; ++i)
        text += std::string(unit) + "," + std::to_string(i) + "," +
                std::to_string(group_of[static_cast<std::size_t>(i)]) + "\n";
    }
    return train(folder.path() / name, folder.file(name + ".csv", text));
  };
  const Record plain = train(folder.path() / "plain");

  const Record one = grouped("one", {0, 0, 0, 0}), each = grouped("each", {0, 1, 2, 3}),
               two = grouped("two", {0, 0, 1, 1});

  EXPECT_EQ(digests(one, "gradient"), digests(plain, "gradient"));
  EXPECT_EQ(digests(each, "gradient"), digests(plain, "gradient")) << "((g0 + g1) + g2) + g3";
  EXPECT_NE(digests(two, "gradient"), digests(plain, "gradient")) << "(g0 + g1) + (g2 + g3)";
}

TEST(ReferenceTrainer, RefusesAnIncompleteOrder) {
  const testing::TemporaryFolder folder;
  const std::string whole = testing::bytes_of(order_file(folder / "whole.csv", true));
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string order = whole;
    const auto at = order.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const auto file = folder.file("order.csv", order.replace(at, from.size(), to));
    return testing::error_of<InputError>([&] { train(folder / "record", file); });
  };
  EXPECT_THAT(refused("layers.0,1", "layers.9,1"),
              HasSubstr("order.csv:7: the model has no unit or parameter \"layers.9\""));
  for (const char* none : {"-1", "4", "x"})
    EXPECT_THAT(refused("norm,3", std::string("norm,") + none),
                HasSubstr(std::string("\"") + none + "\" is not one of 0..3"));
  EXPECT_THAT(refused("norm,3", "norm,2"), HasSubstr("unit norm lists microbatch 2 twice"));
  EXPECT_THAT(refused("norm,3\n", ""), HasSubstr("norm lists 3 microbatches of 4"));
  EXPECT_THAT(refused("norm,0\nnorm,1\nnorm,2\nnorm,3\n", ""), HasSubstr("norm lists 0 microbatches of 4"));
  EXPECT_THAT(refused("norm,3\n", "norm,3\nmodel.norm.weight,3\n"),
              HasSubstr("model.norm.weight lists 1 microbatches of 4"));
  const auto grouped = folder.file("grouped.csv", "unit,microbatch,group\nembed_tokens,0,0\nembed_tokens,1,2\n");
  EXPECT_THAT(testing::error_of<InputError>([&] { train(folder / "record", grouped); }),
              HasSubstr("grouped.csv:3: group \"2\" of unit embed_tokens is out of order"));
  EXPECT_FALSE(std::filesystem::exists(folder / "record")) << "bad input starts nothing";
}

Record train_variant(const std::filesystem::path& folder, std::optional<std::uint64_t> perturb, bool shadow,
                     const std::string& run = quick) {
  ReferenceOptions options;
  options.run_file = run;
  options.record = folder;
  options.perturb = perturb;
  options.shadow = shadow;
  options.progress = false;
  train_reference(options);
  return read_record(folder);
}

TEST(ReferenceTrainer, APerturbedRunDiffersLittle) {
  const testing::TemporaryFolder folder;
  const Record plain = train(folder.path() / "plain");

  const Record one = train_variant(folder.path() / "one", 1, false);
  const Record again = train_variant(folder.path() / "again", 1, false);
  const Record two = train_variant(folder.path() / "two", 2, false);

  EXPECT_EQ(one.manifest.json.at("perturbation"), 1);
  EXPECT_FALSE(plain.manifest.json.contains("perturbation"));
  EXPECT_EQ(digests(one, "gradient"), digests(again, "gradient"));
  EXPECT_NE(digests(one, "gradient"), digests(plain, "gradient"));
  EXPECT_NE(digests(one, "gradient"), digests(two, "gradient"));
  // One last place of float32 in each of the five layers' weights: far below a millionth of the norm.
  const double norm = plain.ranks[0].steps[0].gradient_norm.value();
  EXPECT_NEAR(one.ranks[0].steps[0].gradient_norm.value(), norm, 1e-6 * norm);
}

TEST(ReferenceTrainer, ShadowComputesInFloat64FromTheRunsValues) {
  const testing::TemporaryFolder folder;
  const std::string run = testing::fixtures_path() + "/runs/canary-untied-bf16.toml";
  const Record own = train(folder.path() / "own", std::nullopt, run);

  const Record shadow = train_variant(folder.path() / "shadow", std::nullopt, true, run);

  EXPECT_EQ(shadow.manifest.dtype, "float64");
  EXPECT_EQ(shadow.manifest.json.at("shadow_of"), "bfloat16");
  for (const TensorRow& row : shadow.ranks[0].tensors) EXPECT_EQ(row.dtype, "float64");
  for (std::size_t i = 0; i < own.ranks[0].tensors.size(); ++i) {
    const TensorRow &narrow = own.ranks[0].tensors[i], &wide = shadow.ranks[0].tensors[i];
    ASSERT_EQ(narrow.name, wide.name);
    if (narrow.step >= 0) continue;
    EXPECT_DOUBLE_EQ(narrow.l2, wide.l2) << "it starts from the bfloat16 run's values: " << narrow.name;
  }
  const double norm = shadow.ranks[0].steps[0].gradient_norm.value();
  EXPECT_NE(own.ranks[0].steps[0].gradient_norm.value(), norm);
  EXPECT_NEAR(own.ranks[0].steps[0].gradient_norm.value(), norm, 0.02 * norm);  // measured: half an ULP of bfloat16
}

TEST(ReferenceTrainer, MixedPrecisionHasNoFloat64Reference) {
  const testing::TemporaryFolder folder;
  EXPECT_THAT(testing::error_of<InputError>([&] {
                train_variant(folder / "record", {}, true, testing::fixtures_path() + "/runs/mixed-tied.toml");
              }),
              HasSubstr("key train.precision: mixed has no float64 reference"));
}

TEST(ReferenceTrainer, StartsFromAnotherRecordsStart) {
  const testing::TemporaryFolder folder;
  const std::string text = read_file(testing::fixtures_path() + "/runs/quick.toml");
  const auto with = [&](const std::string& name, const std::string& model, const std::string& end) {
    std::string changed = text + end;
    for (const std::string path : {"../models/", "../corpus/"}) {
      changed.replace(changed.find(path), 3, testing::fixtures_path() + "/");
    }
    const std::string key = "[model]\n";
    changed.replace(changed.find(key), key.size(), key + model);
    return folder.file(name, changed).string();
  };
  const Record first = train(folder.path() / "first", std::nullopt, with("a.toml", "", "[record]\nlevel = \"dump\"\n"));

  const Record second =
      train(folder.path() / "second", std::nullopt,
            with("b.toml", "weights = \"first/rank-0/dumps/step-initial.safetensors\"\n", "seed = 99\n"));

  EXPECT_EQ(digests(first, "parameter"), digests(second, "parameter"));
}

TEST(ReferenceTrainer, OverwritesNoOtherRun) {
  const testing::TemporaryFolder folder;
  train(folder.path() / "record");

  EXPECT_THROW(train(folder.path() / "record"), InputError);
  EXPECT_EQ(read_record(folder.path() / "record").ranks.front().steps.size(), 3U);
}

}  // namespace
}  // namespace plumbline
