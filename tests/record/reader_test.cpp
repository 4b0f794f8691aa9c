// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "record/columns.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReadRecord : public ::testing::Test {
 protected:
  void write(const Json& manifest = sample_manifest()) { write_sample(record, manifest); }
  /// Restores the sample after a loop's last round. A copy, since every write waits for the disk.
  /// disk.
  void renew() {
    std::filesystem::remove_all(record);
    if (!std::filesystem::exists(folder / "whole")) write_sample(folder / "whole");
    std::filesystem::copy(folder / "whole", record, std::filesystem::copy_options::recursive);
  }
  Record read() const { return read_record(record); }
  std::string refusal() const {
    return error_of<InputError>([&] { read(); });
  }
  std::filesystem::path rank_file(int rank, const std::string& name) const { return record / rank_folder(rank) / name; }
  static Json sample_of(const std::string& role, const std::string& level) {
    Json json = sample_manifest();
    json["role"] = role;
    json["level"] = level;
    return json;
  }

  void write_one_stage(const Json& json, bool with_saved = false) {
    begin_record(record, json);
    RecordWriter writer(record, 0, parse_record_level(json["level"].get<std::string>()), with_saved);
    for (const char* unit : {"embed_tokens", "layers.0", "norm", "lm_head"})
      writer.add(SavedRow{0, unit, 1, 2, 3, {}, {}, {}});
    for (std::int64_t step = 0; step < 2; ++step) {
      writer.add(sample_microbatch(0, step));
      writer.add(sample_tensor(0, step));
      writer.add(sample_action(0, step));
      writer.add(sample_memory(step));
      writer.end_step(sample_step(0, step));
    }
    writer.finish(good_exit(0));
  }

  TemporaryFolder folder;
  std::filesystem::path record = folder / "run";
};

TEST_F(ReadRecord, ReadsBackWhatWasWritten) {
  write();

  const Record back = read();

  EXPECT_EQ(back.path, record);
  EXPECT_EQ(back.manifest.run_id, "a-run");
  EXPECT_EQ(back.schedule_csv, sample_schedule);
  ASSERT_EQ(back.ranks.size(), 3u);
  for (std::int64_t number = 0; number < 3; ++number) {
    const RankRecord& rank = back.ranks[static_cast<std::size_t>(number)];
    EXPECT_EQ(rank.rank, number);
    ASSERT_EQ(rank.steps.size(), 2u);
    EXPECT_EQ(cells_of(rank.steps[1]), cells_of(sample_step(number, 1)));
    EXPECT_EQ(cells_of(rank.microbatches.at(1)), cells_of(sample_microbatch(number, 1)));
    EXPECT_EQ(cells_of(rank.boundaries.at(1)), cells_of(sample_boundary(number, 1)));
    EXPECT_EQ(cells_of(rank.actions.at(1)), cells_of(sample_action(number, 1)));
    EXPECT_EQ(cells_of(rank.memory.at(1)), cells_of(sample_memory(1)));
    EXPECT_EQ(cells_of(rank.traffic.at(1)), cells_of(sample_traffic(number, 1)));
    EXPECT_EQ(rank.tensors.size(), number == 1 ? 0u : 2u);
    EXPECT_EQ(rank.exit.value().status, "ok");
    EXPECT_THAT(rank.absent, ElementsAre("saved.csv"));
    EXPECT_THAT(rank.cut_off, IsEmpty());
  }
  EXPECT_EQ(back.ranks[2].steps[0].loss, 5.4321f);
  EXPECT_FALSE(back.ranks[0].steps[0].loss);
}

TEST_F(ReadRecord, AcceptsColumnsInAnotherOrderAndExtraColumns) {
  write();
  overwrite(rank_file(0, "traffic.csv"),
            "bytes,color,operations,side,direction,peer,step\r\n16384,red,1,send,forward,1,0\r\n");

  EXPECT_EQ(cells_of(read().ranks[0].traffic.at(0)), cells_of(sample_traffic(0, 0)));
}

TEST_F(ReadRecord, NamesAMissingFileAndOneWithoutRequiredRows) {
  for (const char* name :
       {"steps.csv", "microbatches.csv", "tensors.csv", "boundaries.csv", "actions.csv", "memory.csv", "traffic.csv"}) {
    renew();
    std::filesystem::remove(rank_file(1, name));

    EXPECT_THAT(refusal(),
                HasSubstr(rank_file(1, name).string() + ": is missing, but manifest.json says level 'full'"));
    renew();
    const std::string bytes = bytes_of(rank_file(0, name));
    overwrite(rank_file(0, name), bytes.substr(0, bytes.find('\n') + 1));

    EXPECT_THAT(refusal(), HasSubstr(rank_file(0, name).string() + ": has no rows"));
  }
}

TEST_F(ReadRecord, NamesAMissingColumn) {
  for (const auto& [file, column] :
       std::vector<std::pair<std::string, std::string>>{{"steps.csv", "loss"},
                                                        {"steps.csv", "live_tokens"},
                                                        {"microbatches.csv", "data_digest"},
                                                        {"tensors.csv", "nonzero_rows"},
                                                        {"boundaries.csv", "cut"},
                                                        {"actions.csv", "peak_bytes"},
                                                        {"memory.csv", "buffer_bytes"},
                                                        {"traffic.csv", "operations"}}) {
    renew();
    drop_column(rank_file(2, file), column);

    EXPECT_THAT(refusal(), EndsWith(rank_file(2, file).string() + ":1: column '" + column + "' is missing"));
  }
}

TEST_F(ReadRecord, NamesFileAndPlaceOfDamage) {
  namespace fs = std::filesystem;
  const std::vector<std::pair<const char*, std::function<void()>>> cases = {
      {"rank-0/boundaries.csv:3: the file ends without a line break",
       [&] {
         const std::string bytes = bytes_of(rank_file(0, "boundaries.csv"));
         overwrite(rank_file(0, "boundaries.csv"), bytes.substr(0, bytes.size() - 5));
       }},
      {"rank-0/memory.csv:4: the row has 2 fields",
       [&] { overwrite(rank_file(0, "memory.csv"), bytes_of(rank_file(0, "memory.csv")) + "2,1\n"); }},
      {"column 'live_bytes' is missing", [&] { drop_column(rank_file(0, "memory.csv"), "live_bytes"); }},
      {"schedule.csv: is missing", [&] { fs::remove(record / "schedule.csv"); }},
      {"schedule.csv: its digest is ", [&] { overwrite(record / "schedule.csv", "0F0,0B0\n1F0,1B0\n2F0,2B1\n"); }},
      {"rank-1/exit.json: key rank: is 0 in the folder of rank 1",
       [&] {
         fs::copy_file(rank_file(0, "exit.json"), rank_file(1, "exit.json"), fs::copy_options::overwrite_existing);
       }},
      {"steps.csv:2: column 'step'",
       [&] {  // as if the rank was killed
         fs::remove(rank_file(0, "exit.json"));
         set_cell(rank_file(0, "steps.csv"), "step", "x");
       }}};
  for (const auto& [words, damage] : cases) {
    renew();
    damage();
    EXPECT_THAT(refusal(), HasSubstr(words));
  }
}

TEST_F(ReadRecord, NamesACellOfTheWrongType) {
  for (const auto& [file, column, text] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"steps.csv", "step", "one"},
           {"steps.csv", "loss", "5,4"},
           {"steps.csv", "tokens", ""},
           {"steps.csv", "live_tokens", ""},
           {"microbatches.csv", "data_digest", "abc"},
           {"tensors.csv", "kind", "weight"},
           {"tensors.csv", "name", ""},
           {"tensors.csv", "dtype", "F32"},
           {"tensors.csv", "shape", "2x"},
           {"tensors.csv", "digest", "E9AE472F8E0534B67486A13C09695146"},
           {"tensors.csv", "l2", ""},
           {"boundaries.csv", "direction", "up"},
           {"boundaries.csv", "side", "sent"},
           {"boundaries.csv", "digest", ""},
           {"actions.csv", "action", ""},
           {"memory.csv", "peak_bytes", ""},
           {"memory.csv", "peak_bytes", "1e6"},
           {"traffic.csv", "side", "computed"}}) {
    renew();
    set_cell(rank_file(2, file), column, text);

    EXPECT_THAT(refusal(),
                HasSubstr(rank_file(2, file).string() + ":2: column '" + column + "': '" + text + "' is not "));
  }
}

TEST_F(ReadRecord, WorldSizeOneHasNoTraffic) {
  write_one_stage(one_stage_manifest("pipeline"));

  const Record back = read();

  EXPECT_THAT(back.ranks[0].traffic, IsEmpty());
  EXPECT_THAT(back.ranks[0].boundaries, IsEmpty());
  EXPECT_THAT(back.ranks[0].absent, Not(Contains("traffic.csv")));
}

TEST_F(ReadRecord, AReferenceNeedsSavedBytes) {
  write_one_stage(one_stage_manifest("reference", "summary"));
  EXPECT_THAT(refusal(), HasSubstr("rank-0/saved.csv: is missing"));

  std::filesystem::remove_all(record);
  write_one_stage(one_stage_manifest("reference", "summary"), /*with_saved=*/true);
  ASSERT_EQ(read().ranks[0].saved.size(), 4U);
  EXPECT_EQ(read().ranks[0].saved[2].unit, "norm");
}

TEST_F(ReadRecord, LevelSummaryHasNoTensors) {
  write(sample_of("pipeline", "summary"));

  const Record back = read();

  EXPECT_THAT(back.ranks[0].absent, ElementsAre("tensors.csv", "boundaries.csv", "saved.csv"));
  EXPECT_EQ(back.ranks[0].steps.size(), 2u);
}

TEST_F(ReadRecord, LevelNoneReadsOnlyExitFiles) {
  write(sample_of("pipeline", "none"));
  std::filesystem::remove(record / "schedule.csv");
  for (const char* name : {"steps.csv", "tensors.csv"}) overwrite(rank_file(2, name), "no table at all\n1,2,3");

  const Record back = read();

  EXPECT_THAT(back.ranks[2].steps, IsEmpty());
  EXPECT_EQ(back.ranks[2].absent.size(), 8u);
  EXPECT_EQ(back.ranks[2].exit.value().status, "ok");
}

TEST_F(ReadRecord, AnExternalRecordMayLackWhatOnlyOurTrainersKnow) {
  Json json = sample_of("external", "full");
  json["schedule"]["digest"] = nullptr;
  write(json);
  std::filesystem::remove(record / "schedule.csv");
  for (int rank = 0; rank < 3; ++rank) {
    std::filesystem::remove(rank_file(rank, "traffic.csv"));
    drop_column(rank_file(rank, "steps.csv"), "live_tokens");
    drop_column(rank_file(rank, "tensors.csv"), "nonzero_rows");
    drop_column(rank_file(rank, "actions.csv"), "peak_bytes");
    drop_column(rank_file(rank, "memory.csv"), "live_bytes");
  }
  for (const char* column : {"peak_bytes", "parameter_bytes", "gradient_bytes", "optimizer_bytes",
                             "activation_peak_bytes", "buffer_bytes", "process_peak_bytes"})
    set_cell(rank_file(0, "memory.csv"), column, "");

  const Record back = read();

  EXPECT_FALSE(back.schedule_csv);
  EXPECT_THAT(back.ranks[0].absent, ElementsAre("saved.csv", "traffic.csv"));
  EXPECT_FALSE(back.ranks[0].steps.at(0).live_tokens);
  EXPECT_FALSE(back.ranks[0].tensors.at(0).nonzero_rows);
  EXPECT_FALSE(back.ranks[0].actions.at(0).peak_bytes);
  EXPECT_EQ(cells_of(back.ranks[0].memory.at(0)), cells_of(MemoryRow{}));
}

TEST_F(ReadRecord, AnExternalRecordMayLackNothingElse) {
  Json json = sample_of("external", "full");
  write(json);
  drop_column(rank_file(0, "memory.csv"), "peak_bytes");
  EXPECT_THAT(refusal(), HasSubstr("column 'peak_bytes' is missing"));

  std::filesystem::remove_all(record);
  write(json);
  std::filesystem::remove(rank_file(1, "actions.csv"));
  EXPECT_THAT(refusal(), HasSubstr("rank-1/actions.csv: is missing"));
}

TEST_F(ReadRecord, ReadsAKilledRankUpToItsEnd) {
  write();
  std::filesystem::remove(rank_file(1, "exit.json"));
  const auto drop_end = [&](const std::string& name, std::size_t bytes) {
    const std::string whole = bytes_of(rank_file(1, name));
    overwrite(rank_file(1, name), whole.substr(0, whole.size() - bytes));
  };
  drop_end("boundaries.csv", 7);                                           // within its last line
  drop_end("steps.csv", bytes_of(rank_file(1, "steps.csv")).size() - 10);  // within its header
  std::filesystem::remove(rank_file(1, "traffic.csv"));

  const Record back = read();

  const RankRecord& killed = back.ranks[1];
  EXPECT_FALSE(killed.exit);
  EXPECT_EQ(killed.boundaries.size(), 1u);
  EXPECT_THAT(killed.cut_off, ElementsAre("boundaries.csv"));
  EXPECT_THAT(killed.steps, IsEmpty());
  EXPECT_THAT(killed.absent, ElementsAre("steps.csv", "saved.csv", "traffic.csv"));
  EXPECT_EQ(killed.microbatches.size(), 2u);
  EXPECT_EQ(back.ranks[2].steps.size(), 2u) << "the others are whole";
}

TEST_F(ReadRecord, ReadsARankThatNeverBeganAsEmpty) {
  write();
  std::filesystem::remove_all(record / "rank-2");

  const Record back = read();

  EXPECT_FALSE(back.ranks[2].exit);
  EXPECT_EQ(back.ranks[2].absent.size(), 8u);
}

TEST_F(ReadRecord, ReadsAFailedRankUpToItsEnd) {
  begin_record(record, sample_manifest());
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    RecordWriter writer(record, rank, RecordLevel::full, false);
    writer.finish({rank, "timeout", 1, {}, "1B0"});
  }

  const Record back = read();

  EXPECT_EQ(back.ranks[0].exit.value().status, "timeout");
  EXPECT_EQ(back.ranks[0].exit.value().last_action, "1B0");
  EXPECT_THAT(back.ranks[0].steps, IsEmpty());
}

TEST_F(ReadRecord, RefusesRanksBeyondTheWorldSize) {
  write();
  std::filesystem::create_directory(record / "rank-3");

  EXPECT_THAT(refusal(), HasSubstr("rank-3: exists, but manifest.json says world_size 3"));
  std::filesystem::remove(record / "rank-3");
  for (const char* name : {"rank-7", "rank-01", "rank-x", "rank-"}) {
    std::filesystem::create_directory(record / name);
    EXPECT_THAT(refusal(), HasSubstr(std::string(name) + ": exists, but"));
    std::filesystem::remove(record / name);
  }
}

}  // namespace
}  // namespace plumbline
