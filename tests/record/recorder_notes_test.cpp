// SPDX-License-Identifier: BSD-3-Clause
#include "record/recorder_notes.hpp"

#include <gmock/gmock.h>

#include "record/rank_folder.hpp"
#include "support/files.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

TEST(RecorderNotes, AreThoseOfEachRanksExitFile) {
  const testing::TemporaryFolder folder;
  Record record;
  record.path = folder / "record";
  record.manifest.set_role("external");
  record.manifest.world_size = 4;
  const std::vector<std::string> exits = {R"({"notes": ["a", 3]})", "damaged", R"({"notes": ["b"]})"};
  for (std::size_t rank = 0; rank < exits.size(); ++rank) {
    const auto of_rank = record.path / rank_folder(static_cast<std::int64_t>(rank));
    make_folder(of_rank);
    write_file(of_rank / "exit.json", exits[rank]);
  }

  EXPECT_THAT(recorder_notes(record), ::testing::ElementsAre("rank 0: a", "rank 2: b"));

  record.manifest.set_role("pipeline");
  EXPECT_THAT(recorder_notes(record), ::testing::IsEmpty());
}

}  // namespace
}  // namespace plumbline
