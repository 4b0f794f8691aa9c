// SPDX-License-Identifier: BSD-3-Clause
// A record that begins after step 0, and one that is read from such a step on.
#include <gmock/gmock.h>

#include "record/record_error.hpp"
#include "record/record_stream.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ResumedRecord : public ::testing::Test {
 protected:
  /// Of three steps, from `first` on.
  void write(std::int64_t first, const std::function<void(RecordWriter&)>& start = {}) {
    Json json = sample_manifest();
    json["steps"] = 3;
    if (first > 0) {
      json["first_step"] = first;
      json["resumed_from"] = {{"run_id", "b"}, {"step", first}};
    }
    begin_record(record, json);
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      RecordWriter writer(record, rank, RecordLevel::full, false);
      if (rank == 0 && start) start(writer);
      writer.flush();
      for (std::int64_t step = first; step < 3; ++step) {
        if (rank == 0) writer.add(tensor("parameter", step));
        add_sample_step(writer, rank, step);
      }
      writer.finish(good_exit(rank));
    }
  }

  static TensorRow tensor(const std::string& kind, std::int64_t step) {
    TensorRow row = sample_tensor(0, step);
    row.kind = kind;
    return row;
  }

  std::vector<std::int64_t> steps_read(std::int64_t from) {
    RecordStream stream(record, from);
    std::vector<std::int64_t> steps;
    while (const auto step = stream.next_step()) {
      steps.push_back(*step);
      stream.go_to(*step);
    }
    return steps;
  }

  TemporaryFolder folder;
  std::filesystem::path record = folder / "record";
};

TEST_F(ResumedRecord, BeginsWithItsFirstStepAndWithMoments) {
  write(1, [](RecordWriter& writer) {
    for (const char* kind : {"parameter", "moment1"}) writer.add(tensor(kind, -1));
  });

  const Record read = read_record(record);

  EXPECT_EQ(read.first_step, 1);
  EXPECT_EQ(read.steps(), 2);
  EXPECT_FALSE(read.in_part());
  EXPECT_EQ(read.ranks[0].steps.front().step, 1);
  std::vector<std::string> start;
  for (const TensorRow& row : read.ranks[0].tensors)
    if (row.step == -1) start.push_back(row.kind);
  EXPECT_THAT(start, ElementsAre("parameter", "moment1"));
  EXPECT_THAT(steps_read(0), ElementsAre(-1, 1, 2));
}

TEST_F(ResumedRecord, StepsBeforeItsFirstAreRefusedAndThatOneIsMissed) {
  write(1);
  Json json = read_json(record / "manifest.json");
  json["first_step"] = json["resumed_from"]["step"] = 2;
  overwrite(record / "manifest.json", json.dump());
  EXPECT_THAT(error_of<RecordError>([&] { read_record(record); }),
              HasSubstr("is not a step of this run, which by manifest.json has 2 to 2"));
  json.erase("first_step");
  json.erase("resumed_from");
  overwrite(record / "manifest.json", json.dump());
  EXPECT_THAT(error_of<RecordError>([&] { read_record(record); }), HasSubstr("no row of step 0 comes before"));
}

TEST_F(ResumedRecord, WithoutAStartOfItsOwnItIsStillReadFromThereOn) {
  write(0);
  EXPECT_THAT(steps_read(0), ElementsAre(0, 1, 2)) << "nothing stands before its first step";
  EXPECT_THAT(steps_read(2), ElementsAre(-1, 2)) << "the state after step 1";
}

TEST_F(ResumedRecord, TheStartOfEveryRankIsTakenAndItsRowsCountedAsLeftOut) {
  write(0);
  RecordStream stream(record, 2);
  stream.go_to(-1);

  const auto& ranks = stream.record().ranks;
  EXPECT_TRUE(ranks[2].tensors.empty()) << "gradients alone";
  EXPECT_TRUE(ranks[1].boundaries.empty());
  EXPECT_EQ(ranks[1].left_out.steps, 2U);
  EXPECT_EQ(ranks[1].left_out.boundaries, 2U);
  EXPECT_EQ(ranks[2].left_out.steps, 2U);
  EXPECT_EQ(ranks[2].left_out.tensors, 2U);
  EXPECT_EQ(ranks[2].left_out.boundaries, 2U);
}

TEST_F(ResumedRecord, GradientsAreNoPartOfTheStart) {
  write(1, [](RecordWriter& writer) { writer.add(tensor("gradient", -1)); });
  EXPECT_THAT(error_of<RecordError>([&] { read_record(record); }), HasSubstr("is the start"));
}

TEST_F(ResumedRecord, OneThatRanThroughIsReadFromThereOnWithItsStateAsTheStart) {
  write(0, [](RecordWriter& writer) { writer.add(tensor("parameter", -1)); });

  RecordStream stream(record, 2);
  ASSERT_EQ(stream.next_step(), -1);
  stream.go_to(-1);

  EXPECT_TRUE(stream.record().in_part());
  EXPECT_EQ(stream.record().steps(), 1);
  const RankRecord& rank = stream.record().ranks[0];
  ASSERT_EQ(rank.tensors.size(), 1U) << "the parameter after step 1, and not its gradient";
  EXPECT_EQ(rank.tensors[0].kind, "parameter");
  EXPECT_EQ(rank.tensors[0].step, -1);
  EXPECT_TRUE(rank.steps.empty() && rank.actions.empty() && rank.memory.empty());
  EXPECT_EQ(rank.left_out.steps, 2U);
  EXPECT_EQ(rank.left_out.tensors, 4U) << "the start's, two gradients, a parameter";
  EXPECT_TRUE(stream.before()[0].tensors.empty());
  stream.go_to(2);
  EXPECT_EQ(stream.before()[0].tensors.size(), 1U);
  EXPECT_THAT(steps_read(2), ElementsAre(-1, 2));
  EXPECT_THAT(steps_read(0), ElementsAre(-1, 0, 1, 2));
}

}  // namespace
}  // namespace plumbline
