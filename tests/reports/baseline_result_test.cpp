// SPDX-License-Identifier: BSD-3-Clause
#include "reports/baseline_result.hpp"

#include <gmock/gmock.h>

namespace plumbline {
namespace {

using ::testing::ElementsAre;

TEST(BaselineResult, EachFieldIsReadFromItsKey) {
  const BaselineResult result = baseline_result_from(Json::parse(R"({
      "baseline": "release", "sweep": "s", "holds": true, "commit_before": "aaa", "commit_now": "bbb",
      "compared": {"runs": 1300, "step_losses": 12, "parameters": 0},
      "changes": [{"kind": "bits", "where": "cell-1", "words": "loss of step 2"}],
      "environment": [{"key": "versions/libtorch", "before": "2.10", "now": "2.11"}],
      "not_compared": ["cell-3: another code path"], "allowed": ["bits"], "reason": "another sum"})"));

  EXPECT_EQ(result.name, "release");
  EXPECT_TRUE(result.holds);
  EXPECT_EQ(result.commit_before, "aaa");
  EXPECT_EQ(result.commit_now, "bbb");
  EXPECT_EQ(result.compared, "1,300\u00A0runs, 12\u00A0step losses") << "what was not compared is not named";
  ASSERT_EQ(result.changes.size(), 1U);
  EXPECT_EQ(result.changes[0].kind, "bits");
  EXPECT_EQ(result.changes[0].where, "cell-1");
  EXPECT_EQ(result.changes[0].words, "loss of step 2");
  ASSERT_EQ(result.environment.size(), 1U);
  EXPECT_EQ(result.environment[0].key, "versions/libtorch");
  EXPECT_EQ(result.environment[0].before, "2.10");
  EXPECT_EQ(result.environment[0].now, "2.11");
  EXPECT_THAT(result.not_compared, ElementsAre("cell-3: another code path"));
  EXPECT_THAT(result.allowed, ElementsAre("bits"));
  EXPECT_EQ(result.reason, "another sum");
}

}  // namespace
}  // namespace plumbline
