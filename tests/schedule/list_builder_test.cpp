// SPDX-License-Identifier: BSD-3-Clause
// One rank's list, built stage by stage.
#include "schedule/list_builder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace plumbline {
namespace {

std::string text_of(ListBuilder& build) {
  std::string text;
  for (const Action& action : build.take()) text += (text.empty() ? "" : " ") + to_text(action);
  return text;
}

TEST(ListBuilder, CountsMicrobatchesPerStage) {
  ListBuilder build(9);
  build.forward(0);
  build.forward(3);
  build.forward(0);
  build.backward(3);
  build.backward(0);

  EXPECT_EQ(build.forwards(0), 2);
  EXPECT_EQ(build.forwards(3), 1);
  EXPECT_EQ(text_of(build), "0F0 3F0 0F1 3B0 0B0");
}

TEST(ListBuilder, ABIncludesW) {
  ListBuilder build(9);
  build.backward(0);
  build.input(0);
  build.weight(0);

  EXPECT_EQ(build.weights(0), 2);
  EXPECT_EQ(text_of(build), "0B0 0I1 0W1");
}

TEST(ListBuilder, WritesTheOldestPendingWFirst) {
  ListBuilder build(9);
  build.oldest_weight();  // none is pending
  build.input(0);
  build.input(0);
  build.input(3);
  for (int i = 0; i < 4; ++i) build.oldest_weight();

  EXPECT_EQ(text_of(build), "0I0 0I1 3I0 0W0 0W1 3W0");
}

TEST(ListBuilder, OmitsMicrobatchesBeyondTheLast) {
  ListBuilder build(1);
  build.forward(0);
  build.forward(0);

  EXPECT_EQ(build.forwards(0), 2);
  EXPECT_EQ(text_of(build), "0F0");
}

}  // namespace
}  // namespace plumbline
