// SPDX-License-Identifier: BSD-3-Clause
#include "record/required_tables.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

/// Stages by their rank and whether they hold units.
Manifest manifest_of(const std::string& role, RecordLevel level,
                     const std::vector<std::pair<std::int64_t, bool>>& stages) {
  Manifest manifest;
  manifest.set_role(role);
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

TEST(RequiredTables, ARankOfSeveralStagesHasWhatAnyOfThemHas) {
  const Manifest manifest =
      manifest_of("pipeline", RecordLevel::full, {{0, true}, {1, true}, {1, true}, {0, false}, {2, false}});

  EXPECT_EQ(demand_of("boundaries.csv", manifest, 0), Demand::rows);
  EXPECT_EQ(demand_of("traffic.csv", manifest, 0), Demand::rows) << "of its first stage";
  EXPECT_EQ(demand_of("traffic.csv", manifest, 1), Demand::rows) << "of its first stage, though not of its second";
  EXPECT_EQ(demand_of("boundaries.csv", manifest, 2), Demand::header);
  EXPECT_EQ(demand_of("traffic.csv", manifest, 2), Demand::header) << "it is behind the last unit";
}

TEST(RequiredTables, SendersAndReceiversHaveTraffic) {
  const Manifest manifest = manifest_of("pipeline", RecordLevel::full, {{1, true}, {1, true}, {0, true}});

  EXPECT_EQ(demand_of("traffic.csv", manifest, 1), Demand::rows) << "it sends alone";
  EXPECT_EQ(demand_of("traffic.csv", manifest, 0), Demand::rows) << "it receives alone";
  EXPECT_EQ(demand_of("traffic.csv", manifest, 2), Demand::header);
}

TEST(RequiredTables, WithoutAnyUnitNothingCrosses) {
  const Manifest manifest = manifest_of("external", RecordLevel::full, {{0, false}, {1, false}});

  EXPECT_EQ(demand_of("boundaries.csv", manifest, 0), Demand::header);
  EXPECT_EQ(demand_of("boundaries.csv", manifest, 1), Demand::header);
}

TEST(RequiredTables, ARankOfAReferenceThatHasNoUnitRecordsNoCut) {
  const Manifest manifest = manifest_of("reference", RecordLevel::full, {{0, true}});

  EXPECT_EQ(demand_of("boundaries.csv", manifest, 1), Demand::header);
}

TEST(RequiredTables, EvaluationsStandOnTheRankOfTheLastUnit) {
  Manifest manifest = manifest_of("pipeline", RecordLevel::summary, {{0, true}, {1, true}, {2, false}});
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 1), Demand::none) << "of a run that evaluates nothing";

  manifest.evaluation = EvaluationPlan{0, 1};
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 0), Demand::none);
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 1), Demand::rows);
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 2), Demand::none);
  manifest.stages = {{0, 0, {}}};
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 0), Demand::none) << "nobody has a unit";
}

TEST(RequiredTables, SomeoneElsesRankMayListNoActions) {
  const Manifest manifest = manifest_of("external", RecordLevel::full, {{0, true}, {1, true}});

  EXPECT_EQ(demand_of("actions.csv", manifest, 0), Demand::header);
  EXPECT_EQ(demand_of("traffic.csv", manifest, 0), Demand::none);
}

TEST(RequiredTables, TheScheduleIsAskedOfOurOwnAtEachLevelButNone) {
  const auto demanded = [](const std::string& role, RecordLevel level) {
    return demands_schedule(manifest_of(role, level, {{0, true}}));
  };

  EXPECT_TRUE(demanded("pipeline", RecordLevel::summary));
  EXPECT_TRUE(demanded("reference", RecordLevel::full));
  EXPECT_FALSE(demanded("pipeline", RecordLevel::none));
  EXPECT_FALSE(demanded("external", RecordLevel::full));
}

TEST(RequiredTables, ATableOfAnotherNameIsAProgrammersError) {
  EXPECT_THROW(demand_of("losses.csv", manifest_of("pipeline", RecordLevel::full, {{0, true}}), 0), std::logic_error);
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
