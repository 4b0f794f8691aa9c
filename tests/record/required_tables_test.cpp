// SPDX-License-Identifier: BSD-3-Clause
#include "record/required_tables.hpp"

#include <gmock/gmock.h>

#include "record/table_stream.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Stages by rank, and whether they have units.
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

TEST(RequiredTables, DependOnTheRanksStages) {
  using enum Demand;
  struct Case {
    const char* what;
    Manifest manifest;
    std::vector<std::tuple<std::string, std::int64_t, Demand>> tables;  ///< table, rank, demand
  };
  const auto of = [](const std::string& role, const std::vector<std::pair<std::int64_t, bool>>& stages) {
    return manifest_of(role, RecordLevel::full, stages);
  };
  const std::vector<Case> cases = {
      {"an empty stage in the middle relays",
       of("pipeline", {{0, true}, {1, false}, {2, true}}),
       {{"boundaries", 1, rows}, {"traffic", 1, rows}, {"actions", 1, rows}, {"tensors", 1, header}}},
      {"nothing crosses before the first or after the last unit",
       of("external", {{0, false}, {1, true}, {2, true}, {3, false}}),
       {{"boundaries", 0, header}, {"boundaries", 1, rows}, {"boundaries", 2, rows}, {"boundaries", 3, header}}},
      {"nothing crosses without any unit",
       of("external", {{0, false}, {1, false}}),
       {{"boundaries", 0, header}, {"boundaries", 1, header}}},
      {"stages of one rank hand over without traffic",
       of("pipeline", {{0, true}, {0, true}}),
       {{"boundaries", 0, rows}, {"traffic", 0, header}}},
      {"a reference records its boundaries but no traffic, and none on a rank without a unit",
       of("reference", {{0, true}}),
       {{"boundaries", 0, rows}, {"saved", 0, rows}, {"traffic", 0, header}, {"boundaries", 1, header}}},
      {"a rank without a stage does not act",
       of("pipeline", {{0, true}}),
       {{"actions", 1, header}, {"steps", 1, rows}}},
      {"a rank that only sends or only receives has traffic",
       of("pipeline", {{1, true}, {1, true}, {0, true}}),
       {{"traffic", 1, rows}, {"traffic", 0, rows}, {"traffic", 2, header}}},
      {"someone else's rank may list no actions",
       of("external", {{0, true}, {1, true}}),
       {{"actions", 0, header}, {"traffic", 0, none}}}};
  for (const auto& [what, manifest, tables] : cases) {
    for (const auto& [table, rank, demand] : tables)
      EXPECT_EQ(demand_of(table + ".csv", manifest, rank), demand) << what << ": " << table << " of rank " << rank;
  }
}

TEST(RequiredTables, ARankNeedsTheTablesOfAllItsStages) {
  const Manifest manifest =
      manifest_of("pipeline", RecordLevel::full, {{0, true}, {1, true}, {1, true}, {0, false}, {2, false}});

  EXPECT_EQ(demand_of("boundaries.csv", manifest, 0), Demand::rows);
  EXPECT_EQ(demand_of("traffic.csv", manifest, 0), Demand::rows) << "for its first stage";
  EXPECT_EQ(demand_of("traffic.csv", manifest, 1), Demand::rows) << "for its first stage, though not for its second";
  EXPECT_EQ(demand_of("boundaries.csv", manifest, 2), Demand::header);
  EXPECT_EQ(demand_of("traffic.csv", manifest, 2), Demand::header) << "it comes after the last unit";
}

TEST(RequiredTables, TensorsAreNotRequiredIfNoneCouldBeRecorded) {
  Manifest manifest = manifest_of("external", RecordLevel::full, {{0, true}});
  manifest.not_recorded = {{"parameters", "another dtype"}};
  EXPECT_EQ(demand_of("tensors.csv", manifest, 0), Demand::rows);
  manifest.not_recorded.push_back({"gradients", "another dtype"});
  EXPECT_EQ(demand_of("tensors.csv", manifest, 0), Demand::header);
}

TEST(RequiredTables, TheRankOfTheLastUnitHasEvaluations) {
  Manifest manifest = manifest_of("pipeline", RecordLevel::summary, {{0, true}, {1, true}, {2, false}});
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 1), Demand::none) << "the run has no evaluations";

  manifest.evaluation = EvaluationPlan{0, 1};
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 0), Demand::none);
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 1), Demand::rows);
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 2), Demand::none);
  manifest.stages = {{0, 0, {}}};
  EXPECT_EQ(demand_of("evaluation.csv", manifest, 0), Demand::none) << "no rank has a unit";
}

TEST(RequiredTables, OurRecordsNeedAScheduleAtEveryLevelButNone) {
  const auto demanded = [](const std::string& role, RecordLevel level) {
    return demands_schedule(manifest_of(role, level, {{0, true}}));
  };

  EXPECT_TRUE(demanded("pipeline", RecordLevel::summary));
  EXPECT_TRUE(demanded("reference", RecordLevel::full));
  EXPECT_FALSE(demanded("pipeline", RecordLevel::none));
  EXPECT_FALSE(demanded("external", RecordLevel::full));
}

TEST(RequiredTables, AnUnknownTableIsAProgrammersError) {
  EXPECT_THROW(demand_of("losses.csv", manifest_of("pipeline", RecordLevel::full, {{0, true}}), 0), std::logic_error);
}

TEST(RequiredTables, EachLevelRequiresMore) {
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

Manifest manifest_of(const std::string& role) {
  Manifest manifest;
  manifest.set_role(role);
  return manifest;
}

std::vector<std::string> who_may_lack(Presence presence) {
  std::vector<std::string> who;
  for (const char* role : {"reference", "pipeline", "external"})
    if (may_lack_column(presence, manifest_of(role))) who.emplace_back(role);
  return who;
}

TEST(RecordTables, PresenceSaysWhichRecordsMayLackAColumn) {
  EXPECT_THAT(who_may_lack(Presence::required), IsEmpty());
  EXPECT_THAT(who_may_lack(Presence::external_may_lack_column), ElementsAre("external"));
  EXPECT_THAT(who_may_lack(Presence::external_may_lack_value), ElementsAre("external"));
  EXPECT_THAT(who_may_lack(Presence::external_may_leave_empty), IsEmpty());
  EXPECT_EQ(who_may_lack(Presence::any_may_lack_column).size(), 3U);

  for (const Presence filled : {Presence::external_may_lack_value, Presence::external_may_leave_empty})
    EXPECT_TRUE(must_have_value_of_our_own(filled));
  for (const Presence empty : {Presence::required, Presence::external_may_lack_column, Presence::any_may_lack_column})
    EXPECT_FALSE(must_have_value_of_our_own(empty));
}

TEST(RecordTables, ATableOfAKilledRankMayHaveOnlyAHeader) {
  testing::TemporaryFolder folder;
  const Manifest manifest;
  std::int64_t rows_parsed = 0;
  RankPlace rank{manifest, folder.path(), 3, false, rows_parsed};
  folder.file("empty.csv", "");
  folder.file("half.csv", "step,lo");
  folder.file("headed.csv", "step,loss\n");
  EXPECT_TRUE(is_absent(rank, "none.csv"));
  EXPECT_TRUE(is_absent(rank, "empty.csv"));
  EXPECT_TRUE(is_absent(rank, "half.csv"));
  EXPECT_FALSE(is_absent(rank, "headed.csv"));
  rank.complete = true;
  EXPECT_TRUE(is_absent(rank, "none.csv"));
  EXPECT_FALSE(is_absent(rank, "empty.csv")) << "a rank that ended well has written its header";
  EXPECT_FALSE(is_absent(rank, "half.csv"));
}

TEST(RecordTables, ErrorsNameFileLineRankAndStep) {
  const Manifest manifest;
  std::int64_t rows_parsed = 0;
  const RankPlace rank{manifest, "/record/rank-3", 3, true, rows_parsed};
  const RecordPlace place = rank.place("steps.csv", 5);
  EXPECT_EQ(place.file, "rank-3/steps.csv");
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.step, 5);
  for (const auto& [line, said] : {std::pair<std::size_t, const char*>(0, "/record/rank-3/steps.csv: what"),
                                   {1, "/record/rank-3/steps.csv:1: what"},
                                   {2, "/record/rank-3/steps.csv:2: what"}}) {
    try {
      rank.fail("steps.csv", line, 5, "what");
    } catch (const RecordError& error) {
      EXPECT_STREQ(error.what(), said);
      EXPECT_EQ(error.place().rank, 3);
    }
  }
}

}  // namespace
}  // namespace plumbline
