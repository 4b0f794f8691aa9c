#include "record/required_tables.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

/// Stages by their rank and whether they hold units.
Manifest manifest_of(const std::string& role, RecordLevel level,
                     const std::vector<std::pair<std::int64_t, bool>>& stages) {
  Manifest manifest;
  manifest.role = role;
  manifest.level = level;
  for (const auto& [rank, has_units] : stages)
    manifest.stages.push_back({static_cast<std::int64_t>(manifest.stages.size()), rank,
                               has_units ? std::vector<std::string>{"layers.0"} : std::vector<std::string>{}});
  return manifest;
}

TEST(RequiredTables, AnEmptyStageInTheMiddleRelays) {
  const Manifest manifest = manifest_of("pipeline", RecordLevel::full, {{0, true}, {1, false}, {2, true}});

  EXPECT_EQ(demand_of("boundaries.csv", manifest, 1), Demand::rows);
  EXPECT_EQ(demand_of("traffic.csv", manifest, 1), Demand::rows);
  EXPECT_EQ(demand_of("actions.csv", manifest, 1), Demand::rows);
  EXPECT_EQ(demand_of("tensors.csv", manifest, 1), Demand::header);
}

TEST(RequiredTables, NothingCrossesBeforeTheFirstOrAfterTheLastUnit) {
  const Manifest manifest = manifest_of("external", RecordLevel::full, {{0, false}, {1, true}, {2, true}, {3, false}});

  EXPECT_EQ(demand_of("boundaries.csv", manifest, 0), Demand::header);
  EXPECT_EQ(demand_of("boundaries.csv", manifest, 1), Demand::rows);
  EXPECT_EQ(demand_of("boundaries.csv", manifest, 2), Demand::rows);
  EXPECT_EQ(demand_of("boundaries.csv", manifest, 3), Demand::header);
}

TEST(RequiredTables, StagesOfOneRankHandOverWithoutTraffic) {
  const Manifest manifest = manifest_of("pipeline", RecordLevel::full, {{0, true}, {0, true}});

  EXPECT_EQ(demand_of("boundaries.csv", manifest, 0), Demand::rows);
  EXPECT_EQ(demand_of("traffic.csv", manifest, 0), Demand::header);
}

TEST(RequiredTables, AReferenceRecordsItsCutsAndNoTraffic) {
  const Manifest manifest = manifest_of("reference", RecordLevel::full, {{0, true}});

  EXPECT_EQ(demand_of("boundaries.csv", manifest, 0), Demand::rows);
  EXPECT_EQ(demand_of("saved.csv", manifest, 0), Demand::rows);
  EXPECT_EQ(demand_of("traffic.csv", manifest, 0), Demand::header);
}

TEST(RequiredTables, ARankWithoutAStageActsNot) {
  const Manifest manifest = manifest_of("pipeline", RecordLevel::full, {{0, true}});

  EXPECT_EQ(demand_of("actions.csv", manifest, 1), Demand::header);
  EXPECT_EQ(demand_of("steps.csv", manifest, 1), Demand::rows);
}

TEST(RequiredTables, LevelsAskForMoreAndMore) {
  const auto demand = [](const std::string& file, RecordLevel level) {
    return demand_of(file, manifest_of("pipeline", level, {{0, true}, {1, true}}), 0);
  };

  EXPECT_EQ(demand("steps.csv", RecordLevel::none), Demand::none);
  EXPECT_EQ(demand("steps.csv", RecordLevel::summary), Demand::rows);
  EXPECT_EQ(demand("tensors.csv", RecordLevel::summary), Demand::none);
  EXPECT_EQ(demand("tensors.csv", RecordLevel::full), Demand::rows);
  EXPECT_EQ(demand("tensors.csv", RecordLevel::dump), Demand::rows);
  EXPECT_EQ(demand("saved.csv", RecordLevel::full), Demand::none);
}

}  // namespace
}  // namespace plumbline
