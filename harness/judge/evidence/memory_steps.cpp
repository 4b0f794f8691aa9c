// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/evidence/memory_steps.hpp"

#include <fmt/format.h>

#include <utility>

namespace plumbline::judging {
namespace {

constexpr std::pair<const char*, std::optional<std::int64_t> MemoryRow::*> owner_columns[] = {
    {"live_bytes", &MemoryRow::live_bytes},
    {"table_bytes", &MemoryRow::table_bytes},
    {"data_bytes", &MemoryRow::data_bytes},
    {"other_bytes", &MemoryRow::other_bytes},
    {"other_peak_bytes", &MemoryRow::other_peak_bytes},
};

}  // namespace

MemorySteps::MemorySteps(const Record& record, std::string whose) : record_(record), whose_(std::move(whose)) {
  if (!record_.manifest.traits.own_bytes) lack("another program assigns bytes to owners in its own way");
}

void MemorySteps::lack(const std::string& what) {
  if (why_no_owners_.empty()) why_no_owners_ = fmt::format("tables, data and other bytes of the {} ({})", whose_, what);
}

void MemorySteps::step() {
  rows_.clear();
  for (const RankRecord& rank : record_.ranks) {
    for (const MemoryRow& row : rank.memory) {
      rows_.push_back({rank.rank, &row});
      for (const auto& [name, bytes] : owner_columns) {
        if (!(row.*bytes)) lack(std::string("its memory.csv has no ") + name);
      }
    }
  }
}

}  // namespace plumbline::judging
