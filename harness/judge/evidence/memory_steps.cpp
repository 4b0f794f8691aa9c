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

void MemorySteps::step(std::int64_t step, CheckResultBuilder& builder) {
  step_ = step;
  rows_.assign(record_.ranks.size(), nullptr);
  const bool of_the_run = step >= record_.first_step && step < record_.manifest.steps;
  for (std::size_t i = 0; i < record_.ranks.size(); ++i) {
    const auto& rows = record_.ranks[i].memory;
    const std::int64_t rank = record_.ranks[i].rank;
    if (std::ssize(rows) != (of_the_run ? 1 : 0)) {
      builder.diverge(at_structure(Structure::records, rank),
                      {.step = step,
                       .rank = rank,
                       .source = whose_,
                       .item = "memory.csv",
                       .expected = of_the_run ? "one" : "none: the run has no such step",
                       .got = std::to_string(rows.size()) + " rows"});
    }
    if (rows.empty()) continue;
    rows_[i] = &rows.front();
    for (const auto& row : rows) {
      for (const auto& [name, bytes] : owner_columns) {
        if (!(row.*bytes)) lack(std::string("its memory.csv has no ") + name);
      }
    }
  }
}

const MemoryRow* MemorySteps::find(std::int64_t rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return rank >= 0 && index < rows_.size() ? rows_[index] : nullptr;
}

}  // namespace plumbline::judging
