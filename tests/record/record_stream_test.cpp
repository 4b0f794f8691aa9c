// SPDX-License-Identifier: BSD-3-Clause
#include "record/record_stream.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "record/columns.hpp"
#include "record/record_error.hpp"
#include "support/error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::EndsWith;
using ::testing::HasSubstr;

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

  TemporaryFolder folder;
  std::filesystem::path record = folder / "run";
};

TEST_F(StreamedRecord, HandsOutTheRowsOfOneStepAndKeepsThoseOfTheStepBefore) {
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

TEST_F(StreamedRecord, CountsMicrobatchesFromTheGivenOneOn) {
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

TEST_F(StreamedRecord, AnErrorOfAStepIsMetInThatStep) {
  write(4);
  const auto memory = record / "rank-1" / "memory.csv";
  std::string bytes = bytes_of(memory);
  const auto third = bytes.find("\n2,");
  overwrite(memory, bytes.replace(third + 1, 2, "2,x"));
  RecordStream stream(record);

  for (const std::int64_t step : {-1, 0}) stream.go_to(step);

  EXPECT_THAT(error_of<RecordError>([&] { stream.go_to(1); }), HasSubstr("rank-1/memory.csv:4: column"));
}

TEST_F(StreamedRecord, ALineThatIsCutOffIsMetBeforeAnyRow) {
  write(2);
  const auto actions = record / "rank-2" / "actions.csv";
  std::string bytes = bytes_of(actions);
  bytes.pop_back();
  overwrite(actions, bytes);

  EXPECT_THAT(error_of<RecordError>([&] { RecordStream stream(record); }),
              EndsWith("rank-2/actions.csv:3: the file ends without a line break; it is truncated"));
}

TEST_F(StreamedRecord, WhatARankThatBrokeOffLeftIsGoneThroughToItsEnd) {
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

TEST_F(StreamedRecord, ATableOfEvaluationsThatTheManifestDoesNotSpeakOfIsRefused) {
  write(2);
  std::ofstream(record / "rank-2" / "evaluation.csv") << "step,microbatch,tokens,valid_tokens,loss,data_digest\n";

  EXPECT_THAT(error_of<RecordError>([&] { RecordStream{record}; }),
              HasSubstr("rank-2/evaluation.csv: exists, but manifest.json has no evaluation"));
}

TEST_F(StreamedRecord, AnOrderOfSummingOfAnotherDigestIsRefused) {
  write(2);
  Json json = sample_manifest();
  json["schedule"]["accumulation"] = "listed";
  json["schedule"]["accumulation_digest"] = hash_hex("unit,microbatch\n");
  std::ofstream(record / "manifest.json", std::ios::trunc) << json.dump();
  EXPECT_NO_THROW(RecordStream{record}) << "it may be left out";
  std::ofstream(record / "accumulation.csv") << "unit,microbatch\n";
  EXPECT_NO_THROW(RecordStream{record});

  std::ofstream(record / "accumulation.csv", std::ios::app) << "norm,0\n";

  EXPECT_THAT(error_of<RecordError>([&] { RecordStream{record}; }),
              HasSubstr("accumulation.csv: its digest is " + hash_hex("unit,microbatch\nnorm,0\n")));
}

}  // namespace
}  // namespace plumbline
