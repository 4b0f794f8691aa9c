// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/evidence/memory_steps.hpp"

#include <gmock/gmock.h>

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::HasSubstr;

/// Of two ranks, with these steps in their rows.
Record record_of(const std::vector<std::vector<std::int64_t>>& steps) {
  Record record;
  record.manifest.set_role("pipeline");
  record.manifest.steps = 3;
  for (std::size_t rank = 0; rank < steps.size(); ++rank) {
    record.ranks.emplace_back();
    record.ranks.back().rank = static_cast<std::int64_t>(rank);
    for (const std::int64_t step : steps[rank]) {
      MemoryRow row;
      row.step = step;
      row.live_bytes = row.table_bytes = row.data_bytes = row.other_bytes = row.other_peak_bytes = 10 * step;
      record.ranks.back().memory.push_back(row);
    }
  }
  return record;
}

/// A record whose steps are in hand one after the other.
class Walked {
 public:
  explicit Walked(Record whole) : whole_(std::move(whole)), in_hand_(whole_) {}

  const Record& in_hand() const { return in_hand_; }

  void go_to(std::int64_t step) {
    for (std::size_t i = 0; i < whole_.ranks.size(); ++i) {
      in_hand_.ranks[i].memory = whole_.ranks[i].memory;
      std::erase_if(in_hand_.ranks[i].memory, [&](const MemoryRow& row) { return row.step != step; });
    }
  }

  void look(MemorySteps& memory) {
    for (std::int64_t step = 0; step < whole_.manifest.steps; ++step) {
      go_to(step);
      memory.step();
    }
  }

 private:
  Record whole_, in_hand_;
};

TEST(MemorySteps, AreFoundByRankInEachStep) {
  Walked walked(record_of({{0, 1, 2}, {2, 0, 1}}));
  MemorySteps memory(walked.in_hand(), "candidate");

  walked.go_to(2);
  memory.step();

  ASSERT_EQ(memory.rows().size(), 2U);
  EXPECT_EQ(memory.rows()[1].rank, 1);
  EXPECT_EQ(memory.rows()[1].row->live_bytes, 20);

  walked.go_to(3);
  memory.step();
  EXPECT_TRUE(memory.rows().empty());
}

/// Why owners are not counted; empty where they are.
std::string why_no_owners_of(const Record& record) {
  Walked walked(record);
  MemorySteps memory(walked.in_hand(), "candidate");
  walked.look(memory);
  EXPECT_EQ(memory.counts_owners(), memory.why_no_owners().empty());
  return memory.why_no_owners();
}

TEST(MemorySteps, OwnersAreCountedWhereEveryRowCountsThem) {
  Record record = record_of({{0, 1, 2}, {0, 1, 2}});
  EXPECT_EQ(why_no_owners_of(record), "");

  const std::pair<const char*, std::optional<std::int64_t> MemoryRow::*> columns[] = {
      {"live_bytes", &MemoryRow::live_bytes},
      {"table_bytes", &MemoryRow::table_bytes},
      {"data_bytes", &MemoryRow::data_bytes},
      {"other_bytes", &MemoryRow::other_bytes},
      {"other_peak_bytes", &MemoryRow::other_peak_bytes}};
  for (const auto& [name, bytes] : columns) {
    Record lacking = record;
    (lacking.ranks[1].memory[2].*bytes).reset();
    EXPECT_THAT(why_no_owners_of(lacking), HasSubstr(std::string("memory.csv has no ") + name));
  }

  record.manifest.set_role("external");
  EXPECT_THAT(why_no_owners_of(record), HasSubstr("another program"));
  record.ranks[1].memory[2].other_peak_bytes.reset();
  EXPECT_THAT(why_no_owners_of(record), HasSubstr("another program")) << "the first reason is told";
}

}  // namespace
}  // namespace plumbline::testing
