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

TEST(ValueFindings, AreToldInOneLineEachWithItsCause) {
  EXPECT_EQ(to_text(two_fingerprints()),
            "gradients are 8 x (ratio 8): the loss was not scaled; or: they are sums (of 4): no mean was taken");
  ValueFindings none = two_fingerprints();
  none.fault_signatures.clear();
  EXPECT_EQ(to_text(none), "none fits");
}

}  // namespace
}  // namespace plumbline
