// SPDX-License-Identifier: BSD-3-Clause
// Kinds of rows that a recorder could not see; tests/approved/verdicts/not_recorded.txt has the verdicts.
#include "record/not_recorded.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "harness/commands/compare.hpp"
#include "harness/judge/checks/checks.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(NotRecorded, AppearsInThePagesTitleAndSummary) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  cell.candidate.manifest["not_recorded"].push_back({{"what", "sends"}, {"why", "a hook failed"}});
  cell.candidate.erase(&RankRecord::boundaries, [](const BoundaryRow& row) { return row.side == "send"; });
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();

  write_comparison(cell.folder / "page", reference, candidate, comparison(reference, candidate));

  EXPECT_THAT(read_file(cell.folder / "page" / "report.html"), HasSubstr("<title>Holds, but sends"));
  EXPECT_THAT(read_file(cell.folder / "page" / "summary.md"), HasSubstr("Holds, but sends"));
}

TEST(NotRecorded, ChecksNameOnlyKindsOfTheFormat) {
  for (const auto& check : judging::all_checks()) {
    for (const auto* list : {&check.needs, &check.needs_of_reference, &check.compares_without}) {
      for (const auto& kind : *list) EXPECT_THAT(kinds_of_rows(), Contains(kind)) << check.name;
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
