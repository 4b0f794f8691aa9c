// SPDX-License-Identifier: BSD-3-Clause
// Rare tables, and what is read in which step.
#include <gmock/gmock.h>

#include "record/columns.hpp"
#include "record/record_stream.hpp"
#include "record/removed_dumps.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StreamTables : public ::testing::Test {
 protected:
  std::string refusal() const {
    return error_of<InputError>([&] { read_record(record_); });
  }
  TemporaryFolder folder_;
  std::filesystem::path record_ = folder_ / "run";
};

TEST_F(StreamTables, EvaluationsComeWithTheirStep) {
  Json json = sample_manifest();
  json["evaluation"] = {{"every", 1}, {"microbatches", 1}};
  begin_record(record_, json);
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    RecordWriter writer(record_, rank, RecordLevel::full, false);
    for (std::int64_t step = 0; step < 2; ++step) {
      if (rank == 2) writer.add(EvaluationRow{step, 0, 5, 4, 0.5F + static_cast<float>(step), some_digest});
      add_sample_step(writer, rank, step);
    }
    writer.finish(good_exit(rank));
  }

  RecordStream stream(record_);
  for (std::int64_t step = 0; step < 2; ++step) {
    stream.go_to(step);
    ASSERT_EQ(stream.record().ranks[2].evaluation.size(), 1U);
    EXPECT_EQ(stream.record().ranks[2].evaluation[0].loss, 0.5F + static_cast<float>(step));
  }
  EXPECT_EQ(read_record(record_).ranks[2].evaluation.size(), 2U);
}

TEST_F(StreamTables, TheMemoryOfAGpuIsReadOfRunsThatHaveOne) {
  Json json = sample_manifest();
  json["device"] = "some GPU";
  write_sample(record_, json);
  overwrite(record_ / "rank-1/gpu_memory.csv",
            "step,requested_peak_bytes,reserved_peak_bytes,reserved_bytes,free_bytes,total_bytes\n"
            "0,1,2,3,4,5\n1,6,7,8,9,10\n");

  const auto rows = read_record(record_).ranks[1].gpu_memory;

  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(cells_of(rows[1]), cells_of(GpuMemoryRow{1, 6, 7, 8, 9, 10}));
}

TEST_F(StreamTables, EachStepOfARankThatEndedWellHasItsDump) {
  Json json = sample_manifest();
  json["level"] = "dump";
  write_sample(record_, json);
  for (const char* rank : {"rank-0", "rank-2"})
    for (const char* step : {"initial", "0", "1"})
      folder_.file(std::string("run/") + rank + "/dumps/step-" + step + ".safetensors", "x");
  EXPECT_NO_THROW(read_record(record_)) << "a rank that owns nothing has nothing to dump";

  for (const char* step : {"initial", "0", "1"}) {
    const std::string name = std::string("rank-2/dumps/step-") + step + ".safetensors";
    std::filesystem::remove(record_ / name);
    EXPECT_THAT(refusal(), HasSubstr(name + ": is missing"));
    folder_.file("run/" + name, "x");
  }
  std::filesystem::remove_all(record_ / "rank-2/dumps");
  std::filesystem::remove(record_ / "rank-2/exit.json");
  EXPECT_NO_THROW(read_record(record_)) << "it was killed before";
}

TEST_F(StreamTables, OnlyDumpsOfRanksAreRemoved) {
  folder_.file("run/rank-0/dumps/step-0.safetensors", "x");
  folder_.file("run/rank-11/dumps/step-0.safetensors", "x");
  folder_.file("run/kept/dumps/step-0.safetensors", "x");
  folder_.file("run/rank-note", "a file");

  remove_dumps(record_, "audited");

  EXPECT_FALSE(std::filesystem::exists(record_ / "rank-0/dumps"));
  EXPECT_FALSE(std::filesystem::exists(record_ / "rank-11/dumps"));
  EXPECT_TRUE(std::filesystem::exists(record_ / "kept/dumps/step-0.safetensors"));
}

TEST_F(StreamTables, TheDigestOfTheDataIsOfTheFirstRankThatTellsOne) {
  write_sample(record_);
  const std::string of_last = std::string(32, 'c');
  const auto tell = [&](std::int64_t rank, const Json& digest) {
    const Json json = {{"rank", rank}, {"status", "ok"}, {"code", 0}, {"data_digest", digest}};
    overwrite(record_ / ("rank-" + std::to_string(rank)) / "exit.json", json.dump());
  };
  tell(2, of_last);
  EXPECT_EQ(read_record(record_).manifest.data_digest, hash_hex(some_digest + some_digest)) << "rank 0's";

  tell(0, nullptr);
  EXPECT_EQ(read_record(record_).manifest.data_digest, of_last);
  std::filesystem::remove(record_ / "rank-0/exit.json");
  EXPECT_EQ(read_record(record_).manifest.data_digest, of_last);
}

TEST_F(StreamTables, TheNextStepIsTheLeastOfAnyRank) {
  write_sample(record_);
  overwrite(record_ / "rank-2/tensors.csv", [&] {
    TensorRow start = sample_tensor(2, -1);
    start.kind = "parameter";
    const std::string bytes = bytes_of(record_ / "rank-2/tensors.csv");
    const auto header = bytes.find('\n') + 1;
    return bytes.substr(0, header) + csv_line(cells_of(start)) + bytes.substr(header);
  }());
  RecordStream stream(record_);

  EXPECT_EQ(stream.next_step(), -1) << "of the last rank alone";
  stream.go_to(-1);
  EXPECT_EQ(stream.next_step(), 0);
}

TEST_F(StreamTables, AfterAStepThatNoRankWroteNoneStandsBefore) {
  Json json = sample_manifest();
  json["steps"] = 3;
  begin_record(record_, json);
  RecordWriter writer(record_, 0, RecordLevel::full, false);
  for (const std::int64_t step : {0, 2}) add_sample_step(writer, 0, step);
  RecordStream stream(record_);

  stream.go_to(0);
  ASSERT_EQ(stream.next_step(), 2);
  stream.go_to(2);

  EXPECT_EQ(stream.record().ranks[0].steps.size(), 1U);
  EXPECT_THAT(stream.before()[0].steps, IsEmpty());
}

TEST_F(StreamTables, AStepMayHaveMoreActionsThanMicrobatches) {
  write_sample(record_);
  std::string rows = csv_line(header_of<ActionRow>());
  for (std::int64_t step = 0; step < 2; ++step)
    for (std::int64_t index = 0; index < 3; ++index) {
      ActionRow row = sample_action(0, step);
      row.index = index;
      rows += csv_line(cells_of(row));
    }
  overwrite(record_ / "rank-0/actions.csv", rows);

  EXPECT_EQ(read_record(record_).ranks[0].actions.size(), 6U);
}

}  // namespace
}  // namespace plumbline::testing
