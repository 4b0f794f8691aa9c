// SPDX-License-Identifier: BSD-3-Clause
#include "record/value_findings.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

ValueFindings two_fingerprints() {
  return {3,
          "gradient/lm_head.weight",
          {{0, 0, 5}, {1, 1, 4}, {2, 3, 1}},
          2,
          {{"not_scaled", "gradients are 8 x", "ratio 8", "the loss was not scaled"},
           {"summed", "they are sums", "of 4", "no mean was taken"}},
          "none fits"};
}

TEST(ValueFindings, ReadBackAsTheyWereWritten) {
  const ValueFindings back = value_findings_from(to_json(two_fingerprints()));

  EXPECT_EQ(back.step, 3);
  EXPECT_EQ(back.tensor, "gradient/lm_head.weight");
  ASSERT_EQ(back.ulps.size(), 3U);
  EXPECT_EQ(back.ulps[2].from, 2);
  EXPECT_EQ(back.ulps[2].to, 3);
  EXPECT_EQ(back.ulps[2].elements, 1);
  EXPECT_EQ(back.not_numbers, 2);
  ASSERT_EQ(back.fingerprints.size(), 2U);
  EXPECT_EQ(back.fingerprints[1].name, "summed");
  EXPECT_EQ(back.fingerprints[1].words, "they are sums");
  EXPECT_EQ(back.fingerprints[1].evidence, "of 4");
  EXPECT_EQ(back.fingerprints[1].suggests, "no mean was taken");
  EXPECT_EQ(back.otherwise, "none fits");
}

TEST(ValueFindings, AreToldInOneLineEachWithItsCause) {
  EXPECT_EQ(to_text(two_fingerprints()),
            "gradients are 8 x (ratio 8): the loss was not scaled; or: they are sums (of 4): no mean was taken");
  ValueFindings none = two_fingerprints();
  none.fingerprints.clear();
  EXPECT_EQ(to_text(none), "none fits");
}

}  // namespace
}  // namespace plumbline
