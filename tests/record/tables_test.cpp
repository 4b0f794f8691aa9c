// SPDX-License-Identifier: BSD-3-Clause
// Which columns and tables may be absent, and the place that an error names.
#include <gmock/gmock.h>

#include "record/table_stream.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Manifest manifest_of(const std::string& role, int schema) {
  Manifest manifest;
  manifest.set_role(role);
  manifest.schema = schema;
  return manifest;
}

std::vector<std::string> who_may_lack(Presence presence) {
  std::vector<std::string> who;
  for (const char* role : {"reference", "pipeline", "external"})
    for (const int schema : {1, 2})
      if (may_lack_column(presence, manifest_of(role, schema)))
        who.push_back(role + std::string(" ") + std::to_string(schema));
  return who;
}

TEST(RecordTables, WhoMayLackAColumnAndWhoMustFillIt) {
  EXPECT_THAT(who_may_lack(Presence::required), IsEmpty());
  EXPECT_THAT(who_may_lack(Presence::external_may_lack_column), ElementsAre("external 1", "external 2"));
  EXPECT_THAT(who_may_lack(Presence::external_may_lack_value), ElementsAre("external 1", "external 2"));
  EXPECT_THAT(who_may_lack(Presence::external_may_leave_empty), IsEmpty());
  EXPECT_THAT(who_may_lack(Presence::added_with_schema_2),
              ElementsAre("reference 1", "pipeline 1", "external 1", "external 2"));
  EXPECT_EQ(who_may_lack(Presence::any_may_lack_column).size(), 6U);

  for (const Presence filled :
       {Presence::external_may_lack_value, Presence::external_may_leave_empty, Presence::added_with_schema_2})
    EXPECT_TRUE(must_have_value_of_our_own(filled));
  for (const Presence empty : {Presence::required, Presence::external_may_lack_column, Presence::any_may_lack_column})
    EXPECT_FALSE(must_have_value_of_our_own(empty));
}

TEST(RecordTables, ATableOfAKilledRankMayBeBegunAndNoMore) {
  TemporaryFolder folder;
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

TEST(RecordTables, AnErrorNamesFileLineRankAndStep) {
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
}  // namespace plumbline::testing
