// SPDX-License-Identifier: BSD-3-Clause
// Lists from files, executed by threads of this process and compared bit by bit with one device.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <set>

#include "schedule/csv_import.hpp"
#include "schedule/lowering.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/paths.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/run_text.hpp"
#include "tests/schedule/late_receives.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const fs::path fixture_folder = testing::fixtures_path();

/// One step of a small tied model. Every microbatch gives every weight a gradient: a masked one, or one of length 1 for
/// queries and keys, would add zeros, so its place in the sum could not be seen.
fs::path run_file(const testing::TemporaryFolder& folder, int microbatches) {
  std::string lengths;
  for (int i = 0; i < microbatches; ++i)
    lengths += std::array{"7, ", "4, ", "[5, 2], ", "3, "}.at(static_cast<std::size_t>(i % 4));
  return folder.file("run-" + std::to_string(microbatches) + ".toml",
                     testing::run_text("lengths = [" + lengths + "]\nbatch = 2\n",
                                       "steps = 1\nlearning_rate = 1e-3\noptimizer = \"sgd\"\n"));
}

class Imported : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { shared_ = std::make_unique<testing::TemporaryFolder>(); }
  static void TearDownTestSuite() {
    references_.clear();
    shared_.reset();
  }

  Record train(const std::string& schedule, int world, int microbatches) {
    const fs::path record = folder_ / "record";
    const int code = train_pipeline(options(run_file(folder_, microbatches), record, world, schedule));
    if (code != 0) throw RunError("the pipeline ended with " + std::to_string(code));
    return read_record(record);
  }

  /// Trained once for each number of microbatches and summation order (`order`: the content of the order file).
  static const Record& reference(int microbatches, const std::string& order) {
    const auto key = std::pair(microbatches, order);
    if (const auto known = references_.find(key); known != references_.end()) return known->second;
    ReferenceOptions requested = reference_options(
        run_file(*shared_, microbatches), shared_->path() / ("reference-" + std::to_string(references_.size())));
    if (!order.empty()) requested.accumulation = shared_->file("order.csv", order);
    train_reference(requested);
    return references_.emplace(key, read_record(requested.record)).first->second;
  }

  static std::string order_in(const Record& record) {
    return record.manifest.accumulation == "listed" ? read_file(record.path / "accumulation.csv") : "";
  }

  static void expect_parity(const Record& candidate, int microbatches) {
    const std::string order = order_in(candidate);
    const Record& one = reference(microbatches, order);
    EXPECT_EQ(candidate.manifest.accumulation, one.manifest.accumulation);
    EXPECT_EQ(candidate.manifest.accumulation_digest, one.manifest.accumulation_digest);
    auto compared = expect_same_bits(one, candidate);
    EXPECT_EQ(compared["loss"], microbatches);
    EXPECT_EQ(compared["gradient"], 48) << "45 of 5 layers, norm, embedding and head";
    EXPECT_GE(compared["boundary"], microbatches * 2 * (static_cast<int>(candidate.manifest.stages.size()) - 1));
  }

  static void expect_executed(const Record& candidate, const Schedule& lowered) {
    for (const RankRecord& rank : candidate.ranks) {
      ActionList executed;
      for (const ActionRow& row : rank.actions) executed.push_back(parse_action(row.action).value());
      EXPECT_EQ(executed, lowered.ranks.at(static_cast<std::size_t>(rank.rank))) << "rank " << rank.rank;
    }
  }

  testing::TemporaryFolder folder_;

 private:
  static inline std::unique_ptr<testing::TemporaryFolder> shared_;
  static inline std::map<std::pair<int, std::string>, Record> references_;
};

std::vector<std::string> torchs_files(bool one_f_one_b) {
  std::vector<std::string> stems;
  for (const auto& entry : fs::directory_iterator(fixture_folder / "schedules")) {
    const std::string stem = entry.path().stem().string();
    const bool torchs = entry.path().extension() == ".csv" && stem.find("-p") != std::string::npos;
    if (torchs && stem.starts_with("1f1b") == one_f_one_b) stems.push_back(stem);
  }
  std::ranges::sort(stems);
  return stems;
}

int number_after(const std::string& stem, const std::string& mark) {
  return std::stoi(stem.substr(stem.rfind(mark) + mark.size()));
}

class TorchsFile : public Imported, public ::testing::WithParamInterface<std::string> {};

TEST_P(TorchsFile, MatchesOneDevice) {
  const std::string path = (fixture_folder / "schedules" / (GetParam() + ".csv")).string();
  const int ranks = number_after(GetParam(), "-p"), microbatches = number_after(GetParam(), "-m");

  const Record record = train(path, ranks, microbatches);

  expect_parity(record, microbatches);
  expect_executed(record, lower(import_schedule(path).schedule, true));
  EXPECT_EQ(record.manifest.schedule_name, GetParam() + ".csv");
  // Of these files only breadth first sums its gradients from the last microbatch to the first.
  EXPECT_EQ(record.manifest.accumulation, GetParam().starts_with("looped-bfs") ? "listed" : "ascending");
}

std::string test_name(const ::testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, TorchsFile, ::testing::ValuesIn(torchs_files(false)), test_name);

class TorchsOneFOneB : public Imported, public ::testing::WithParamInterface<std::string> {};

// torch 2.11 prints another order than it runs: the last rank's forwards are numbered from 1, one beyond the last.
TEST_P(TorchsOneFOneB, IsRefusedForAMissingForward) {
  const std::string path = (fixture_folder / "schedules" / (GetParam() + ".csv")).string();
  const int ranks = number_after(GetParam(), "-p"), microbatches = number_after(GetParam(), "-m");

  const std::string words = testing::error_of<InputError>([&] { train(path, ranks, microbatches); });

  const std::string last = std::to_string(ranks - 1);
  EXPECT_THAT(words, HasSubstr("rank " + last + ", position 1, " + last + "B0: its forward has not run"));
  EXPECT_THAT(words, HasSubstr(last + "F" + std::to_string(microbatches)));
  EXPECT_THAT(words, HasSubstr("only the microbatches 0 to " + std::to_string(microbatches - 1)));
  EXPECT_FALSE(fs::exists(folder_ / "record")) << "bad input starts nothing";
}

INSTANTIATE_TEST_SUITE_P(Files, TorchsOneFOneB, ::testing::ValuesIn(torchs_files(true)), test_name);

TEST_F(Imported, AllThirtyFiveFilesExist) {
  EXPECT_EQ(torchs_files(false).size(), 30U);
  EXPECT_EQ(torchs_files(true).size(), 5U);
}

// Shows that the two tests above can fail: a reference with another order computes other bits.
TEST_F(Imported, DetectsAWrongSummationOrder) {
  const Record record = train((fixture_folder / "schedules" / "looped-bfs-p2-m4.csv").string(), 2, 4);
  const std::string order = order_in(record);
  ASSERT_THAT(order, HasSubstr("layers.0,3\nlayers.0,2\nlayers.0,1\nlayers.0,0\n"));
  std::string swapped = order;
  swapped.replace(swapped.find("layers.0,1\nlayers.0,0\n"), 22, "layers.0,0\nlayers.0,1\n");
  const auto differing = [&](const Record& one) {
    std::set<std::string> gradients;
    for (const TensorRow& row : one.ranks.front().tensors) gradients.insert(row.name + row.kind + row.digest);
    std::set<std::string> units;
    for (const RankRecord& rank : record.ranks) {
      for (const TensorRow& row : rank.tensors) {
        if (row.kind == "gradient" && !gradients.contains(row.name + row.kind + row.digest)) units.insert(row.name);
      }
    }
    return units;
  };

  EXPECT_TRUE(differing(reference(4, order)).empty());
  EXPECT_GT(differing(reference(4, "")).size(), 40U) << "ascending";
  const auto one_unit = differing(reference(4, swapped));
  EXPECT_FALSE(one_unit.empty()) << "two microbatches of one layer in the other order";
  for (const std::string& name : one_unit) EXPECT_THAT(name, HasSubstr("layers.0."));
}

TEST_F(Imported, StagesAndTheGradientsOfOneMayHaveDifferentOrders) {
  for (const auto& [rows, order] :
       {std::pair{"0F0,0F1,0F2,0B2,0B0,0B1\n1F0,1F1,1F2,1I1,1I0,1W1,1I2,1W0,1W2\n",
                  "layers.2,2\nlayers.2,0\nlayers.2,1\nlayers.3,1\nlayers.3,0\nlayers.3,2\n"},
        {"0F0,0F1,0F2,0I2,0I0,0I1,0W1,0W0,0W2\n1F0,1F1,1F2,1I2,1I0,1I1,1W0,1W1,1W2\n",
         "model.layers.2.input_layernorm.weight,2\n"}}) {
    const Record record = train(folder_.file("mine.csv", rows).string(), 2, 3);

    EXPECT_THAT(order_in(record), HasSubstr(order));
    expect_parity(record, 3);
    fs::remove_all(folder_ / "record");
  }
}

// Its RECVs are so late that it deadlocks on a transport that puts a rank's messages into one queue; these transports
// use separate queues, so their model is `buffered`.
TEST_F(Imported, ExecutesAListWithMessagesUnchanged) {
  for (const char* name : {"interleaved-1f1b", "zb-v", "1f1b"}) {
    const testing::TemporaryFolder folder;
    const Schedule late = with_late_receives(lower(make_schedule(name, 2, 4, default_chunks(name)), true));
    const auto path = folder.file("late.csv", to_csv(late));
    fs::remove_all(folder_ / "record");

    const Record record = train(path.string(), 2, 4);

    expect_parity(record, 4);
    expect_executed(record, late);
    EXPECT_EQ(record.schedule_csv, to_csv(late));
  }
}

TEST_F(Imported, PathsAreRelativeToTheRunFile) {
  fs::copy_file(fixture_folder / "schedules" / "zbv-p2-m4.csv", folder_ / "mine.csv");
  const auto run = run_file(folder_, 4);
  std::ofstream(run, std::ios::app) << "[pipeline]\nschedule = \"mine.csv\"\n";
  PipelineOptions requested = options(run, folder_ / "record", 2, "");
  requested.schedule.reset();

  ASSERT_EQ(train_pipeline(requested), 0);

  expect_parity(read_record(folder_ / "record"), 4);
}

TEST_F(Imported, ARefusalDoesNotTouchAnotherRunsRecord) {
  folder_.file("record/manifest.json", "another run's");
  const auto path = folder_.file("circle.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");

  EXPECT_THAT(testing::error_of<InputError>([&] { train(path.string(), 2, 2); }), HasSubstr("in a cycle"));

  EXPECT_EQ(read_file(folder_ / "record/manifest.json"), "another run's");
}

}  // namespace
}  // namespace plumbline
