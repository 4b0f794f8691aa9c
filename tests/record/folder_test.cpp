// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "record/writer.hpp"
#include "support/error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(ClaimRecordFolder, MakesANewOneAndTakesAnEmptyOne) {
  const TemporaryFolder folder;

  claim_record_folder(folder / "a/b");
  claim_record_folder(folder / "a/b");

  EXPECT_TRUE(std::filesystem::is_empty(folder / "a/b"));
}

TEST(ClaimRecordFolder, RefusesWhatHoldsAnythingAndLeavesIt) {
  const TemporaryFolder folder;
  folder.file("run/.hidden", "x");
  folder.file("file", "x");

  EXPECT_THAT(error_of<InputError>([&] { claim_record_folder(folder / "run"); }), HasSubstr("is not empty"));
  EXPECT_THAT(error_of<InputError>([&] { claim_record_folder(folder / "file"); }), HasSubstr("is a file"));
  EXPECT_EQ(bytes_of(folder / "run/.hidden"), "x");
  EXPECT_EQ(bytes_of(folder / "file"), "x");
}

TEST(WriteManifest, RefusesWhatNoReaderWouldTake) {
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
