// SPDX-License-Identifier: BSD-3-Clause
#include "record/record_stream.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "record/columns.hpp"
#include "record/record_error.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;

/// The sample with more steps, at level full.
class StreamedRecord : public ::testing::Test {
 protected:
  void write(std::int64_t steps) {
    std::filesystem::remove_all(record);
    Json json = sample_manifest();
    json["steps"] = steps;
    begin_record(record, json);
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      RecordWriter writer(record, rank, RecordLevel::full, false);
      if (rank != 1) {
        TensorRow initial = sample_tensor(rank, -1);
        initial.kind = "parameter";
        writer.add(initial);
        writer.flush();
      }
      for (std::int64_t step = 0; step < steps; ++step) add_sample_step(writer, rank, step);
      writer.finish(good_exit(rank));
    }
  }

  /// Rows of the whole record.
  std::int64_t rows_parsed(std::int64_t steps) {
    write(steps);
    RecordStream stream(record);
    while (const auto step = stream.next_step()) stream.go_to(*step);
    return stream.rows_parsed();
  }

  std::string refusal() const {
    return error_of<RecordError>([&] { read_record(record); });
  }

  TemporaryFolder folder;
  std::filesystem::path record = folder / "run";
};

TEST_F(StreamedRecord, ReturnsTheRowsOfOneStepAndKeepsThePreviousStep) {
  write(3);
  RecordStream stream(record);

  EXPECT_EQ(stream.record().manifest.steps, 3);
  EXPECT_TRUE(stream.record().ranks[0].steps.empty());
  ASSERT_EQ(stream.next_step(), -1);
  stream.go_to(-1);
  EXPECT_EQ(stream.record().ranks[0].tensors.size(), 1u);
  EXPECT_TRUE(stream.record().ranks[0].steps.empty());

  for (std::int64_t step = 0; step < 3; ++step) {
    ASSERT_EQ(stream.next_step(), step);
    stream.go_to(step);
    for (std::int64_t rank = 0; rank < 3; ++rank) {
      const RankRecord& now = stream.record().ranks[static_cast<std::size_t>(rank)];
      ASSERT_EQ(now.steps.size(), 1u);
      EXPECT_EQ(cells_of(now.steps[0]), cells_of(sample_step(rank, step)));
      EXPECT_EQ(cells_of(now.actions.at(0)), cells_of(sample_action(rank, step)));
      EXPECT_EQ(now.tensors.size(), rank == 1 ? 0u : 1u);
      EXPECT_EQ(now.exit.value().status, "ok");
      const RankRecord& before = stream.before()[static_cast<std::size_t>(rank)];
      EXPECT_EQ(before.steps.size(), step == 0 ? 0u : 1u);
      EXPECT_EQ(before.tensors.size(), rank == 1 ? 0u : 1u);
      for (const StepRow& row : before.steps) EXPECT_EQ(row.step, step - 1);
    }
  }
  EXPECT_FALSE(stream.next_step());
}

TEST_F(StreamedRecord, CountsMicrobatchesFromAnOffset) {
  write(1);
  RecordStream plain(record), counted(record, 0, 10);
  for (const std::int64_t step : {-1, 0}) {
    plain.go_to(step);
    counted.go_to(step);
  }
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const RankRecord &own = plain.record().ranks[rank], &rows = counted.record().ranks[rank];
    EXPECT_EQ(rows.microbatches.at(0).microbatch, own.microbatches.at(0).microbatch + 10);
    ASSERT_EQ(rows.boundaries.size(), own.boundaries.size());
    for (std::size_t i = 0; i < own.boundaries.size(); ++i)
      EXPECT_EQ(rows.boundaries[i].microbatch, own.boundaries[i].microbatch + 10);
    const ActionRow& action = own.actions.at(0);
    ASSERT_TRUE(action.microbatch);
    EXPECT_EQ(rows.actions.at(0).microbatch, *action.microbatch + 10);
    EXPECT_EQ(rows.actions.at(0).action,
              action.action.substr(0, action.action.size() - 1) + std::to_string(*action.microbatch + 10));
  }
}

TEST_F(StreamedRecord, ReadsEachRowOnce) {
  // steps, microbatches, boundaries, actions, memory and traffic on three ranks, tensors on two
  constexpr std::int64_t of_step = 3 * 6 + 2, at_start = 2;
  EXPECT_EQ(rows_parsed(5), 5 * of_step + at_start);
  EXPECT_EQ(rows_parsed(50), 50 * of_step + at_start);
}

TEST_F(StreamedRecord, ReportsAnErrorInItsStep) {
  write(4);
  const auto memory = record / "rank-1" / "memory.csv";
  std::string bytes = bytes_of(memory);
  const auto third = bytes.find("\n2,");
  overwrite(memory, bytes.replace(third + 1, 2, "2,x"));
  RecordStream stream(record);

  for (const std::int64_t step : {-1, 0}) stream.go_to(step);

  EXPECT_THAT(error_of<RecordError>([&] { stream.go_to(1); }), HasSubstr("rank-1/memory.csv:4: column"));
}

TEST_F(StreamedRecord, ReadsAFailedRankToItsEnd) {
  write(4);
  std::filesystem::remove(record / "rank-1" / "exit.json");
  const auto memory = record / "rank-1" / "memory.csv";
  std::string bytes = bytes_of(memory);
  overwrite(memory, bytes.substr(0, bytes.find("\n1,") + 3));
  RecordStream stream(record);

  std::int64_t rows = 0;
  while (const auto step = stream.next_step()) {
    stream.go_to(*step);
    rows += std::ssize(stream.record().ranks[1].memory);
  }

  EXPECT_EQ(rows, 1);
  EXPECT_THAT(stream.record().ranks[1].cut_off, ::testing::ElementsAre("memory.csv"));
}

TEST_F(StreamedRecord, ReturnsEvaluationsWithTheirStep) {
  Json json = sample_manifest();
  json["evaluation"] = {{"every", 1}, {"microbatches", 1}};
  begin_record(record, json);
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    RecordWriter writer(record, rank, RecordLevel::full, false);
    for (std::int64_t step = 0; step < 2; ++step) {
      if (rank == 2) writer.add(EvaluationRow{step, 0, 5, 4, 0.5F + static_cast<float>(step), some_digest});
      add_sample_step(writer, rank, step);
    }
    writer.finish(good_exit(rank));
  }

  RecordStream stream(record);
  for (std::int64_t step = 0; step < 2; ++step) {
    stream.go_to(step);
    ASSERT_EQ(stream.record().ranks[2].evaluation.size(), 1U);
    EXPECT_EQ(stream.record().ranks[2].evaluation[0].loss, 0.5F + static_cast<float>(step));
  }
  EXPECT_EQ(read_record(record).ranks[2].evaluation.size(), 2U);
}

TEST_F(StreamedRecord, DataDigestComesFromTheFirstRankThatHasOne) {
  write_sample(record);
  const std::string of_last = std::string(32, 'c');
  const auto write_exit = [&](std::int64_t rank, const Json& digest) {
    const Json json = {{"rank", rank}, {"status", "ok"}, {"code", 0}, {"data_digest", digest}};
    overwrite(record / ("rank-" + std::to_string(rank)) / "exit.json", json.dump());
  };
  write_exit(2, of_last);
  EXPECT_EQ(read_record(record).manifest.data_digest, hash_hex(some_digest + some_digest)) << "rank 0's";

  write_exit(0, nullptr);
  EXPECT_EQ(read_record(record).manifest.data_digest, of_last);
  std::filesystem::remove(record / "rank-0/exit.json");
  EXPECT_EQ(read_record(record).manifest.data_digest, of_last);
}

TEST_F(StreamedRecord, NextStepIsTheSmallestOfAllRanks) {
  write_sample(record);
  overwrite(record / "rank-2/tensors.csv", [&] {
    TensorRow start = sample_tensor(2, -1);
    start.kind = "parameter";
    const std::string bytes = bytes_of(record / "rank-2/tensors.csv");
    const auto header = bytes.find('\n') + 1;
    return bytes.substr(0, header) + csv_line(cells_of(start)) + bytes.substr(header);
  }());
  RecordStream stream(record);

  EXPECT_EQ(stream.next_step(), -1) << "only of the last rank";
  stream.go_to(-1);
  EXPECT_EQ(stream.next_step(), 0);
}

TEST_F(StreamedRecord, AStepThatNoRankWroteLeavesNoPreviousStep) {
  Json json = sample_manifest();
  json["steps"] = 3;
  begin_record(record, json);
  RecordWriter writer(record, 0, RecordLevel::full, false);
  for (const std::int64_t step : {0, 2}) add_sample_step(writer, 0, step);
  RecordStream stream(record);

  stream.go_to(0);
  ASSERT_EQ(stream.next_step(), 2);
  stream.go_to(2);

  EXPECT_EQ(stream.record().ranks[0].steps.size(), 1U);
  EXPECT_THAT(stream.before()[0].steps, IsEmpty());
}

class ResumedRecord : public StreamedRecord {
 protected:
  /// Writes three steps, from `first` on.
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
};

TEST_F(ResumedRecord, StartsAtItsFirstStepWithMoments) {
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

TEST_F(ResumedRecord, CanBeReadWithoutAStart) {
  write(0);
  EXPECT_THAT(steps_read(0), ElementsAre(0, 1, 2)) << "no state comes before its first step";
  EXPECT_THAT(steps_read(2), ElementsAre(-1, 2)) << "the state after step 1";
}

TEST_F(ResumedRecord, UsesEveryRanksStartAndCountsItsRowsAsLeftOut) {
  write(0);
  RecordStream stream(record, 2);
  stream.go_to(-1);

  const auto& ranks = stream.record().ranks;
  EXPECT_TRUE(ranks[2].tensors.empty()) << "only gradients";
  EXPECT_TRUE(ranks[1].boundaries.empty());
  EXPECT_EQ(ranks[1].left_out.steps, 2U);
  EXPECT_EQ(ranks[1].left_out.boundaries, 2U);
  EXPECT_EQ(ranks[2].left_out.steps, 2U);
  EXPECT_EQ(ranks[2].left_out.tensors, 2U);
  EXPECT_EQ(ranks[2].left_out.boundaries, 2U);
}

TEST_F(ResumedRecord, AWholeRunCanBeReadFromALaterStep) {
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
  EXPECT_EQ(rank.left_out.tensors, 4U) << "those of the start, two gradients, a parameter";
  EXPECT_TRUE(stream.before()[0].tensors.empty());
  stream.go_to(2);
  EXPECT_EQ(stream.before()[0].tensors.size(), 1U);
  EXPECT_THAT(steps_read(2), ElementsAre(-1, 2));
  EXPECT_THAT(steps_read(0), ElementsAre(-1, 0, 1, 2));
}

}  // namespace
}  // namespace plumbline
