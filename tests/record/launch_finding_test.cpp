// SPDX-License-Identifier: BSD-3-Clause
#include "record/launch_finding.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::EndsWith;

class LaunchFindingFile : public ::testing::Test {
 protected:
  static LaunchFinding example() {
    LaunchFinding finding;
    finding.started = false;
    finding.timed_out = true;
    finding.interrupted = true;
    finding.exit_code = 137;
    finding.culprit_rank = 2;
    finding.words = "rank 2 was killed";
    finding.seconds = 1.5;
    return finding;
  }
  LaunchFinding read(const Json& json) const { return read_launch_finding(folder_.file("finding.json", json.dump())); }
  std::string refusal(const std::function<void(Json&)>& damage) const {
    Json json = to_json(example());
    damage(json);
    return error_of<InputError>([&] { read(json); });
  }

  TemporaryFolder folder_;
};

TEST_F(LaunchFindingFile, ReadsBackAsItWasWritten) {
  const LaunchFinding read_back = read(to_json(example()));

  EXPECT_FALSE(read_back.started);
  EXPECT_TRUE(read_back.timed_out);
  EXPECT_TRUE(read_back.interrupted);
  EXPECT_EQ(read_back.exit_code, 137);
  EXPECT_EQ(read_back.culprit_rank, 2);
  EXPECT_EQ(read_back.words, "rank 2 was killed");
  EXPECT_EQ(read_back.seconds, 1.5);
}

TEST_F(LaunchFindingFile, OfARunThatEndedWellNoRankIsToBlame) {
  const LaunchFinding read_back = read(to_json(LaunchFinding{}));

  EXPECT_TRUE(read_back.started);
  EXPECT_FALSE(read_back.timed_out);
  EXPECT_FALSE(read_back.interrupted);
  EXPECT_FALSE(read_back.culprit_rank);
  EXPECT_EQ(to_json(LaunchFinding{}).at("culprit_rank"), Json(nullptr));
}

TEST_F(LaunchFindingFile, DamageIsRefusedByItsKey) {
  const Json whole = to_json(example());
  for (const auto& [key, value] : whole.items())
    EXPECT_THAT(refusal([&key = key](Json& json) { json.erase(key); }), EndsWith("key " + key + ": is missing"));
  for (const char* key : {"started", "timed_out", "interrupted"})
    EXPECT_THAT(refusal([&](Json& json) { json[key] = 1; }),
                EndsWith(std::string("key ") + key + ": must be true or false"));
  EXPECT_THAT(refusal([](Json& json) { json["culprit_rank"] = -1; }), EndsWith("key culprit_rank: -1 is not between 0 "
                                                                               "and 9223372036854775807"));
  EXPECT_THAT(refusal([](Json& json) { json["exit_code"] = 1LL << 40; }),
              EndsWith("key exit_code: 1099511627776 is not between -2147483648 and 2147483647"));
}

}  // namespace
}  // namespace plumbline::testing
