// SPDX-License-Identifier: BSD-3-Clause
#include "record/finding.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Finding, TheSentenceHasAllThatIsKnown) {
  const Finding all = {.step = 2,
                       .microbatch = 1,
                       .stage = 3,
                       .rank = 0,
                       .direction = "forward",
                       .source = "reference",
                       .item = "layers.3",
                       .what = "forward boundary layers.3",
                       .expected = "a",
                       .got = "b",
                       .why = "the bits differ"};
  EXPECT_EQ(words_of(all),
            "reference: step 2, microbatch 1, stage 3, rank 0, forward boundary layers.3: the bits differ "
            "(expected a, got b)");
  EXPECT_EQ(place_text(all), "step 2, microbatch 1, stage 3, rank 0, forward, layers.3");
}

TEST(Finding, WhatIsUnknownIsLeftOut) {
  const Finding start = {.step = -1, .item = "model.norm.weight", .got = "none"};
  EXPECT_EQ(words_of(start), "the start, model.norm.weight (expected , got none)");
  EXPECT_EQ(place_text(start), "the start, model.norm.weight");
  EXPECT_EQ(words_of({.item = "run", .why = "it ended"}), "step 0, run: it ended");
  EXPECT_EQ(place_text({}), "step 0");
  EXPECT_EQ(step_words(2, 3), "step 2, microbatch 3");
}

}  // namespace
}  // namespace plumbline
