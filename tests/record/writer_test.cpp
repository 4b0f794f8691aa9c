// SPDX-License-Identifier: BSD-3-Clause
#include "record/writer.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>

#include "record/exit_file.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::UnorderedElementsAre;
using namespace testing;

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(RecordWriter, MakesTheTablesOfItsLevel) {
  const TemporaryFolder folder;

  RecordWriter(folder / "none", 0, RecordLevel::none, false).finish(good_exit(0));
  RecordWriter(folder / "summary", 0, RecordLevel::summary, false).finish(good_exit(0));
  RecordWriter(folder / "reference", 0, RecordLevel::summary, true).finish(good_exit(0));
  RecordWriter(folder / "full", 3, RecordLevel::full, false).finish(good_exit(3));
  RecordWriter(folder / "external", 0, RecordLevel::summary, false, /*with_traffic=*/false).finish(good_exit(0));

  EXPECT_THAT(names_in(folder / "none/rank-0"), ElementsAre("exit.json"));
  EXPECT_THAT(names_in(folder / "summary/rank-0"), UnorderedElementsAre("steps.csv", "microbatches.csv", "actions.csv",
                                                                        "memory.csv", "traffic.csv", "exit.json"));
  EXPECT_THAT(names_in(folder / "reference/rank-0"),
              UnorderedElementsAre("steps.csv", "microbatches.csv", "actions.csv", "memory.csv", "traffic.csv",
                                   "saved.csv", "exit.json"));
  EXPECT_THAT(names_in(folder / "full/rank-3"),
              UnorderedElementsAre("steps.csv", "microbatches.csv", "actions.csv", "memory.csv", "traffic.csv",
                                   "tensors.csv", "boundaries.csv", "exit.json"));
  EXPECT_THAT(names_in(folder / "external/rank-0"),
              UnorderedElementsAre("steps.csv", "microbatches.csv", "actions.csv", "memory.csv", "exit.json"));
}

TEST(RecordWriter, KnowsWhatItsLevelNeeds) {
  const TemporaryFolder folder;

  const RecordWriter summary(folder / "s", 0, RecordLevel::summary, false);
  const RecordWriter full(folder / "f", 0, RecordLevel::full, false);
  const RecordWriter dump(folder / "d", 0, RecordLevel::dump, false);

  EXPECT_FALSE(summary.wants_tensors());
  EXPECT_TRUE(full.wants_tensors());
  EXPECT_FALSE(full.wants_dump());
  EXPECT_TRUE(dump.wants_tensors());
  EXPECT_TRUE(dump.wants_dump());
  EXPECT_EQ(dump.folder(), folder / "d/rank-0");
  EXPECT_EQ(dump.level(), RecordLevel::dump);
}

TEST(RecordWriter, WritesAStepsRowsOnlyAtItsEnd) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), 2, RecordLevel::full, false);

  writer.add(sample_memory(0));
  EXPECT_THAT(bytes_of(folder / "rank-2/memory.csv"), HasSubstr("process_peak_bytes,live_bytes\n"));
  EXPECT_EQ(read_csv(folder / "rank-2/memory.csv").rows.size(), 0u);
  writer.end_step(sample_step(2, 0));

  EXPECT_EQ(bytes_of(folder / "rank-2/memory.csv"),
            "step,peak_bytes,parameter_bytes,gradient_bytes,optimizer_bytes,activation_peak_bytes,buffer_bytes,"
            "process_peak_bytes,live_bytes\n"
            "0,1,2,3,4,5,6,7,8\n");
  EXPECT_EQ(bytes_of(folder / "rank-2/steps.csv"),
            "step,loss,gradient_norm,clip_coefficient,learning_rate,tokens,valid_tokens,live_tokens,seconds,recording_"
            "seconds\n"
            "0,5.4321,0.1,1,0.001,64,60,17,0.25,\n");
}

TEST(RecordWriter, FlushWritesTheInitialParameters) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::full, false);
  TensorRow initial = sample_tensor(0, -1);
  initial.kind = "parameter";

  writer.add(initial);
  writer.flush();

  EXPECT_EQ(read_csv(folder / "rank-0/tensors.csv").rows.size(), 1u);
  EXPECT_EQ(read_csv(folder / "rank-0/steps.csv").rows.size(), 0u);
}

TEST(RecordWriter, DropsRowsThatItsLevelOmits) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::none, true);

  add_sample_step(writer, 0, 0);
  writer.add(SavedRow{});
  writer.finish(good_exit(0));

  EXPECT_THAT(names_in(folder / "rank-0"), ElementsAre("exit.json"));
}

TEST(RecordWriter, DigestsTheDataOfItsMicrobatchesInTheirOrder) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::summary, false);
  const auto fed = [&](const std::string& digest) {
    MicrobatchRow row;
    row.data_digest = digest;
    writer.add(row);
    return writer.data_digest();
  };

  EXPECT_EQ(fed(""), std::nullopt);
  EXPECT_EQ(fed("one"), hash_hex("one"));
  EXPECT_EQ(fed(""), hash_hex("one"));
  EXPECT_EQ(fed("two"), hash_hex("onetwo"));
}

TEST(RecordWriter, TouchesNoTableOfAnotherRun) {
  const TemporaryFolder folder;
  write_sample_rank(folder.path(), 0);
  const std::string before = bytes_of(folder / "rank-0/steps.csv");

  EXPECT_THAT(error_of<InputError>([&] { RecordWriter(folder.path(), 0, RecordLevel::full, false); }),
              HasSubstr("holds another run; nothing was overwritten"));
  EXPECT_THAT(error_of<InputError>([&] { RecordWriter(folder.path(), 0, RecordLevel::none, false); }),
              HasSubstr("holds another run"));
  EXPECT_EQ(bytes_of(folder / "rank-0/steps.csv"), before);

  RecordWriter(folder.path(), 1, RecordLevel::none, false).finish(good_exit(1));
  EXPECT_THAT(error_of<InputError>([&] { RecordWriter(folder.path(), 1, RecordLevel::none, false); }),
              HasSubstr("exit.json: already exists"));
}

TEST(RecordWriter, AnyTableOfAnotherRunIsEnoughToRefuse) {
  for (const char* name : {"steps.csv", "microbatches.csv", "tensors.csv", "boundaries.csv", "actions.csv",
                           "memory.csv", "saved.csv", "traffic.csv", "evaluation.csv", "exit.json"}) {
    const TemporaryFolder folder;
    folder.file(std::string("rank-0/") + name, "of a run that was killed\n");
    EXPECT_THAT(error_of<InputError>([&] { RecordWriter(folder.path(), 0, RecordLevel::none, false); }),
                HasSubstr(std::string(name) + ": already exists"));
  }
}

TEST(RecordWriter, TheFirstEvaluationCreatesItsTable) {
  const EvaluationRow row{1, 0, 5, 4, 0.5F, some_digest};
  for (const auto level : {RecordLevel::none, RecordLevel::summary}) {
    const TemporaryFolder folder;
    RecordWriter writer(folder.path(), 0, level, false);
    EXPECT_FALSE(std::filesystem::exists(folder / "rank-0/evaluation.csv"));
    writer.add(row);
    writer.flush();
    EXPECT_EQ(std::filesystem::exists(folder / "rank-0/evaluation.csv"), level != RecordLevel::none);
  }
}

TEST(RecordWriter, AcceptsAFolderWithALog) {
  const TemporaryFolder folder;
  folder.file("rank-0/log.txt", "started\n");

  write_sample_rank(folder.path(), 0);

  EXPECT_EQ(bytes_of(folder / "rank-0/log.txt"), "started\n");
}

TEST(RecordWriter, RefusesRowsAfterExit) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::full, false);
  writer.finish(good_exit(0));

  EXPECT_THROW(writer.add(sample_memory(0)), std::logic_error);
  EXPECT_THROW(writer.end_step(sample_step(0, 0)), std::logic_error);
}

TEST(RecordWriter, AFullDiskIsASystemErrorAndTheRunIsNotMarkedOk) {
  const TemporaryFolder folder;
  RecordWriter writer(folder.path(), 0, RecordLevel::full, false);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};  // bytes of one file: enough for exit.json, not for a step's rows
  for (int i = 0; i < 100; ++i) writer.add(sample_boundary(0, 0));

  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = error_of<SystemError>([&] { writer.end_step(sample_step(0, 0)); });
  EXPECT_THROW(writer.finish(good_exit(0)), SystemError);
  EXPECT_FALSE(std::filesystem::exists(folder / "rank-0/exit.json"));
  writer.finish({0, "error", 3, {}, "0F0"});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  EXPECT_THAT(message, HasSubstr("rank-0/boundaries.csv: cannot be written: File too large"));
  EXPECT_EQ(read_csv(folder / "rank-0/steps.csv").rows.size(), 0u) << "the step was not completed";
  EXPECT_EQ(read_exit_file(folder / "rank-0/exit.json")->status, "error");
}

TEST(ClaimRecordFolder, CreatesAFolderOrUsesAnEmptyOne) {
  const TemporaryFolder folder;

  claim_record_folder(folder / "a/b");
  claim_record_folder(folder / "a/b");

  EXPECT_TRUE(std::filesystem::is_empty(folder / "a/b"));
}

TEST(ClaimRecordFolder, RefusesANonEmptyFolderAndKeepsItsContent) {
  const TemporaryFolder folder;
  folder.file("run/.hidden", "x");
  folder.file("file", "x");

  EXPECT_THAT(error_of<InputError>([&] { claim_record_folder(folder / "run"); }), HasSubstr("is not empty"));
  EXPECT_THAT(error_of<InputError>([&] { claim_record_folder(folder / "file"); }), HasSubstr("is a file"));
  EXPECT_EQ(bytes_of(folder / "run/.hidden"), "x");
  EXPECT_EQ(bytes_of(folder / "file"), "x");
}

TEST(WriteManifest, RefusesWhatReadersWouldRefuse) {
  const TemporaryFolder folder;
  Json json = sample_manifest();
  json.erase("seed");

  EXPECT_THAT(error_of<InputError>([&] { write_manifest(folder.path(), json); }), HasSubstr("key seed: is missing"));
  EXPECT_FALSE(std::filesystem::exists(folder / "manifest.json"));
}

TEST(WriteManifest, OverwritesNoOtherRun) {
  const TemporaryFolder folder;
  write_manifest(folder.path(), sample_manifest());
  write_schedule_csv(folder.path(), "0F0,0B0\n");
  Json other = sample_manifest();
  other["run_id"] = "another";

  EXPECT_THAT(error_of<InputError>([&] { write_manifest(folder.path(), other); }), HasSubstr("already exists"));
  EXPECT_THAT(error_of<InputError>([&] { write_schedule_csv(folder.path(), "x\n"); }), HasSubstr("already exists"));
  EXPECT_EQ(read_json(folder / "manifest.json")["run_id"], "a-run");
  EXPECT_EQ(bytes_of(folder / "schedule.csv"), "0F0,0B0\n");
}

TEST(WriteAccumulation, IsWrittenOnce) {
  const TemporaryFolder folder;
  write_accumulation_csv(folder.path(), "0,1\n");
  EXPECT_THAT(error_of<InputError>([&] { write_accumulation_csv(folder.path(), "1,0\n"); }),
              HasSubstr("accumulation.csv: already exists"));
  EXPECT_EQ(bytes_of(folder / "accumulation.csv"), "0,1\n");
}

TEST(GiveBackRecordFolder, CanBeClaimedAgain) {
  TemporaryFolder folder;
  const auto record = folder / "record";
  claim_record_folder(record);
  write_manifest(record, sample_manifest());

  give_back_record_folder(record);

  claim_record_folder(record);
  EXPECT_TRUE(std::filesystem::is_empty(record));
}

TEST(RunId, IsARandomUuid) {
  const std::string id = new_run_id();

  // Version 4, variant of RFC 4122.
  EXPECT_THAT(id, MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_NE(id, new_run_id());
}

TEST(NowText, IsRfc3339InUtc) {
  EXPECT_THAT(now_text(), MatchesRegex("20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z"));
}

TEST(RecordLevel, TextReadsBack) {
  for (const RecordLevel level : {RecordLevel::none, RecordLevel::summary, RecordLevel::full, RecordLevel::dump})
    EXPECT_EQ(parse_record_level(to_text(level)), level);
  EXPECT_THAT(error_of<InputError>([] { parse_record_level("fully"); }), HasSubstr("known: none, summary, full, dump"));
}

}  // namespace
}  // namespace plumbline
