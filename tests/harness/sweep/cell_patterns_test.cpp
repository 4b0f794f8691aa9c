// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/cell_patterns.hpp"

#include "support/error.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

const std::vector<std::string> cell_ids = {"tied-1f1b-w2", "tied-1f1b-w4", "tied-zb-v-w4", "untied-1f1b-w4",
                                           "odd,one-afab-w1"};

std::string refusal(const std::vector<std::string>& wanted) {
  return error_of<InputError>([&] { cells_named(wanted, cell_ids); });
}

TEST(CellPatterns, CommasSeparateIdsAndTheOptionMayComeSeveralTimes) {
  EXPECT_THAT(cells_named({"tied-zb-v-w4,tied-1f1b-w2", "untied-1f1b-w4"}, cell_ids),
              ElementsAre("tied-1f1b-w2", "tied-zb-v-w4", "untied-1f1b-w4"))
      << "in the sweep's order, whatever the order of the options";
  EXPECT_THAT(cells_named({" tied-1f1b-w2 , tied-1f1b-w4,"}, cell_ids), ElementsAre("tied-1f1b-w2", "tied-1f1b-w4"));
}

TEST(CellPatterns, AStarIsAnyCharactersAndAQuestionMarkOne) {
  EXPECT_THAT(cells_named({"*-w4"}, cell_ids), ElementsAre("tied-1f1b-w4", "tied-zb-v-w4", "untied-1f1b-w4"));
  EXPECT_THAT(cells_named({"tied-*,odd*"}, cell_ids),
              ElementsAre("tied-1f1b-w2", "tied-1f1b-w4", "tied-zb-v-w4", "odd,one-afab-w1"));
  EXPECT_THAT(cells_named({"tied-1f1b-w?"}, cell_ids), ElementsAre("tied-1f1b-w2", "tied-1f1b-w4"));
  EXPECT_THAT(cells_named({"*1f1b*w2*"}, cell_ids), ElementsAre("tied-1f1b-w2"));
}

TEST(CellPatterns, AnIdWithACommaInItIsNamedAsAWhole) {
  EXPECT_THAT(cells_named({"odd,one-afab-w1"}, cell_ids), ElementsAre("odd,one-afab-w1"));
}

TEST(CellPatterns, PatternsWithoutAMatchAreRefusedWithNearIds) {
  EXPECT_THAT(refusal({"tied-1f1b-w22"}),
              AllOf(HasSubstr("--cells: \"tied-1f1b-w22\" is not a case of this sweep; did you mean \"tied-1f1b-w2\""),
                    HasSubstr("(--list prints them all)")));
  EXPECT_THAT(refusal({"*-zb-b-w4"}), HasSubstr("matches no case of this sweep; did you mean \"tied-zb-v-w4\""));
  EXPECT_THAT(refusal({"*-w4,*-w9"}), HasSubstr("\"*-w9\" matches no case")) << "each of several must match";
  EXPECT_THAT(refusal({"qqqqqqqqqqqqqqqqqqqqqq"}), Not(HasSubstr("did you mean")));
}

TEST(CellPatterns, AnEmptyOptionIsRefused) {
  for (const std::string nothing : {"", ",", " , "}) EXPECT_THAT(refusal({nothing}), HasSubstr("--cells: is empty"));
}

TEST(CellPatterns, AStarThatMatchesNothingElseMatchesTheEmptyText) {
  EXPECT_THAT(cells_named({"*tied-1f1b-w2*"}, cell_ids), ElementsAre("tied-1f1b-w2"));
}

}  // namespace
}  // namespace plumbline::testing
