// SPDX-License-Identifier: BSD-3-Clause
#include "record/required_tables.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/approved.hpp"

namespace plumbline {
namespace {

/// "pipeline full 0 1- 2": role, level, and the rank of each stage, with "-" if it has no unit. Then what the run
/// evaluates or could not record.
Manifest manifest_of(const std::string& text) {
  std::istringstream words(text);
  std::string role, level;
  words >> role >> level;
  Manifest manifest;
  manifest.set_role(role);
  manifest.level = parse_record_level(level);
  for (std::string word; words >> word;) {
    if (word == "evaluates") {
      manifest.evaluation = EvaluationPlan{0, 1};
    } else if (word.starts_with("no_")) {
      manifest.not_recorded.push_back({word.substr(3), "for a test"});
    } else {
      const auto stage = static_cast<std::int64_t>(manifest.stages.size());
      const bool empty = word.ends_with('-');
      manifest.stages.push_back({stage, std::stoll(word), std::vector<std::string>(empty ? 0 : 1, "layers.0")});
    }
  }
  return manifest;
}

TEST(RequiredTables, AreAsApproved) {
  expect_answers("required-tables.txt", [](const std::string& input) {
    const Manifest manifest = manifest_of(input);
    std::string text = demands_schedule(manifest) ? "schedule.csv" : "no schedule.csv";
    std::int64_t last = 0;
    for (const StageEntry& stage : manifest.stages) last = std::max(last, stage.rank);
    for (std::int64_t rank = 0; rank <= last + 1; ++rank) {
      std::string rows, headers;
      for (const std::string table :
           {"steps", "microbatches", "tensors", "boundaries", "actions", "memory", "saved", "traffic", "evaluation"}) {
        const Demand demand = demand_of(table + ".csv", manifest, rank);
        if (demand != Demand::none) (demand == Demand::rows ? rows : headers) += " " + table;
      }
      text += "\nrank " + std::to_string(rank) + ":" + rows + "; may be empty:" + headers;
    }
    return text;
  });
}

TEST(RequiredTables, AnUnknownTableIsAProgrammersError) {
  EXPECT_THROW(demand_of("losses.csv", manifest_of("pipeline full 0"), 0), std::logic_error);
}

}  // namespace
}  // namespace plumbline
