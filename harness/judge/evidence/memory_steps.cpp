#include "harness/judge/evidence/memory_steps.hpp"

#include "harness/judge/evidence/cell_evidence.hpp"

namespace plumbline::judging {
namespace {

constexpr std::pair<const char*, std::optional<std::int64_t> MemoryRow::*> owner_columns[] = {
    {"live_bytes", &MemoryRow::live_bytes},
    {"table_bytes", &MemoryRow::table_bytes},
    {"data_bytes", &MemoryRow::data_bytes},
    {"other_bytes", &MemoryRow::other_bytes},
    {"other_peak_bytes", &MemoryRow::other_peak_bytes},
};

std::string what_lacks(const Record& record) {
  if (record.manifest.role == "external") return "another program divides its bytes in its own way";
  for (const auto& rank : record.ranks) {
    for (const auto& row : rank.memory) {
      for (const auto& [name, bytes] : owner_columns) {
        if (!(row.*bytes)) return std::string("its memory.csv has no ") + name;
      }
    }
  }
  return "";
}

}  // namespace

MemorySteps::MemorySteps(const Record& record, std::string whose, Judgement& judgement)
    : record_(record), whose_(std::move(whose)) {
  const auto report = [&](std::int64_t rank, std::int64_t step, const std::string& expected, std::int64_t rows) {
    judgement.diverge(at_structure(rank), step, rank, "memory.csv", expected, std::to_string(rows) + " rows",
                      whose_ + ", rank " + std::to_string(rank) + ": memory.csv has " + std::to_string(rows) +
                          " rows of step " + std::to_string(step) + ", expected " + expected);
  };
  for (const auto& rank : record.ranks) {
    std::map<std::int64_t, std::int64_t> rows;  // by step
    for (const auto& row : rank.memory) {
      ++rows[row.step];
      rows_.emplace(std::pair(rank.rank, row.step), &row);
    }
    for (std::int64_t step = 0; step < record.manifest.steps; ++step) {
      const auto found = rows.extract(step);
      if (found.empty() || found.mapped() != 1) report(rank.rank, step, "one", found.empty() ? 0 : found.mapped());
    }
    for (const auto& [step, count] : rows) report(rank.rank, step, "none: the run has no such step", count);
  }
  const std::string lacking = what_lacks(record);
  if (!lacking.empty()) why_no_owners_ = "tables, data and other bytes of the " + whose_ + " (" + lacking + ")";
}

const MemoryRow* MemorySteps::find(std::int64_t rank, std::int64_t step) const {
  const auto found = rows_.find({rank, step});
  return found == rows_.end() ? nullptr : found->second;
}

}  // namespace plumbline::judging
