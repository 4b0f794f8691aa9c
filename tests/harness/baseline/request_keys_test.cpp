// SPDX-License-Identifier: BSD-3-Clause
// Requests as keys and values, and their differences.
#include <gmock/gmock.h>

#include "harness/baseline/run_identity.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(RequestKeys, GroupsAreOpenedAndListsAreValues) {
  EXPECT_THAT(request_keys({{"steps", 5},
                            {"optimizer", {{"name", "sgd"}, {"momentum", 0.5}}},
                            {"clip_norm", nullptr},
                            {"lengths", {1, 2}},
                            {"evaluation", Json::object()}}),
              ElementsAre(Pair("clip_norm", "null"), Pair("evaluation", "{}"), Pair("lengths", "[1,2]"),
                          Pair("optimizer/momentum", "0.5"), Pair("optimizer/name", "sgd"), Pair("steps", "5")));
  EXPECT_THAT(request_keys(nullptr), IsEmpty());
}

TEST(RequestKeys, ALongValueIsItsDigest) {
  const std::string longest(32, 'a');
  const auto of = [](const std::string& text) { return request_keys({{"key", text}}).at("key"); };
  EXPECT_EQ(of(longest), longest);
  EXPECT_THAT(of(longest + "a"), StartsWith("digest "));
  EXPECT_EQ(of(longest + "a").size(), 7U + 12U);
  EXPECT_NE(of(longest + "a"), of(longest + "b"));
}

TEST(RequestKeys, FilesCountByTheirNames) {
  const auto of = [](const char* folder) {
    return request_keys({{"data", {{"files", {{{"path", std::string(folder) + "/a.txt"}, {"bytes", 3}}}}}}});
  };
  EXPECT_EQ(of("/here"), of("/there"));
}

TEST(RequestKeys, WhatIsBeyondAnotherMakesItAgain) {
  const RequestKeys base = {{"kept", "1"}, {"gone", "2"}, {"other", "3"}};
  const RequestKeys keys = {{"kept", "1"}, {"other", "4"}, {"new", "5"}};

  const RequestKeys difference = beyond(base, keys);

  EXPECT_THAT(difference, ElementsAre(Pair("gone", "absent"), Pair("new", "5"), Pair("other", "4")));
  EXPECT_EQ(with(base, difference), keys);
  EXPECT_THAT(beyond(base, base), IsEmpty());
}

TEST(RequestKeys, DifferencesOfBothSidesAreTold) {
  EXPECT_THAT(request_differences({{"kept", "1"}, {"gone", "2"}, {"other", "3"}},
                                  {{"kept", "1"}, {"other", "4"}, {"new", "5"}}),
              ElementsAre("gone 2 before, absent now", "new absent before, 5 now", "other 3 before, 4 now"));
}

}  // namespace
}  // namespace plumbline::testing
