// SPDX-License-Identifier: BSD-3-Clause
// What the reader makes of a record's files, whole and changed.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "record/columns.hpp"
#include "record/record_error.hpp"
#include "record/record_stream.hpp"
#include "support/safetensors.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"
#include "tests/record/sample.hpp"
#include "tests/record_changes.hpp"

namespace plumbline {
namespace {

using namespace testing;

std::string text_of(const RankRecord& rank) {
  std::string text = fmt::format("rank {}: {}", rank.rank, rank.exit ? rank.exit->status : "no exit.json");
  const auto count = [&](const char* table, const auto& rows) {
    if (!rows.empty()) text += fmt::format(", {} {}", rows.size(), table);
  };
  count("steps", rank.steps);
  count("microbatches", rank.microbatches);
  count("tensors", rank.tensors);
  count("boundaries", rank.boundaries);
  count("actions", rank.actions);
  count("memory", rank.memory);
  count("saved", rank.saved);
  count("traffic", rank.traffic);
  count("gpu_memory", rank.gpu_memory);
  if (!rank.absent.empty()) text += "; absent: " + join(rank.absent, " ");
  if (!rank.cut_off.empty()) text += "; cut off: " + join(rank.cut_off, " ");
  return text;
}

/// Writes the record with the changed manifest and changes its files.
void write_changed(const std::filesystem::path& record, const std::string& changes) {
  std::string of_manifest, line;
  std::vector<std::string> of_files;
  for (std::istringstream lines(changes); std::getline(lines, line);)
    line.starts_with('/') ? static_cast<void>(of_manifest += line + "\n") : of_files.push_back(line);
  write_sample(record, changed(sample_manifest(), of_manifest));
  if (read_manifest(record).level == RecordLevel::dump) {
    for (const char* file : {"rank-0/dumps/step-initial", "rank-0/dumps/step-0", "rank-0/dumps/step-1",
                             "rank-2/dumps/step-initial", "rank-2/dumps/step-0", "rank-2/dumps/step-1"}) {
      make_folder((record / file).parent_path());
      write_safetensors(record / (std::string(file) + ".safetensors"), {});
    }
  }
  for (const std::string& change : of_files) change_record(record, change);
}

TEST(ReadRecord, ChangedFilesAreReadOrRefusedAsApproved) {
  const TemporaryFolder usual;
  write_sample(usual / "run");
  const Record whole = read_record(usual / "run");
  expect_answers("record-files.txt", [&](const std::string& changes) {
    const TemporaryFolder folder;
    write_changed(folder / "run", changes);
    try {
      std::string text = "accepted";
      for (const RankRecord& rank : read_record(folder / "run").ranks)
        if (text_of(rank) != text_of(whole.ranks[static_cast<std::size_t>(rank.rank)])) text += "\n" + text_of(rank);
      return text;
    } catch (const RecordError& error) {
      const RecordPlace& place = error.place();
      const auto number = [](const char* name, const auto& value) {
        return value ? fmt::format(", {} {}", name, *value) : "";
      };
      return in_folder(folder, error.what()) + "\n" + place.file + number("rank", place.rank) +
             number("step", place.step);
    } catch (const InputError& error) {
      return in_folder(folder, error.what());
    }
  });
}

TEST(ReadRecord, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  write_sample(folder / "run");

  const Record back = read_record(folder / "run");

  EXPECT_EQ(back.path, folder / "run");
  EXPECT_EQ(back.manifest.run_id, "a-run");
  EXPECT_EQ(back.schedule_csv, sample_schedule);
  ASSERT_EQ(back.ranks.size(), 3u);
  for (std::int64_t number = 0; number < 3; ++number) {
    const RankRecord& rank = back.ranks[static_cast<std::size_t>(number)];
    EXPECT_EQ(cells_of(rank.steps.at(1)), cells_of(sample_step(number, 1)));
    EXPECT_EQ(cells_of(rank.microbatches.at(1)), cells_of(sample_microbatch(number, 1)));
    EXPECT_EQ(cells_of(rank.boundaries.at(1)), cells_of(sample_boundary(number, 1)));
    EXPECT_EQ(cells_of(rank.actions.at(1)), cells_of(sample_action(number, 1)));
    EXPECT_EQ(cells_of(rank.memory.at(1)), cells_of(sample_memory(1)));
    EXPECT_EQ(cells_of(rank.traffic.at(1)), cells_of(sample_traffic(number, 1)));
    if (number != 1) {
      EXPECT_EQ(cells_of(rank.tensors.at(1)), cells_of(sample_tensor(number, 1)));
    }
  }
}

}  // namespace
}  // namespace plumbline
