#include "reports/child_process.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

using std::chrono::milliseconds;

TEST(ChildProcess, GivesBackWhatTheProgramSaid) {
  const ChildResult result = run_child({"sh", "-c", "cat; echo bad >&2; exit 3"}, "in\n", milliseconds(10'000));

  EXPECT_TRUE(result.started);
  EXPECT_TRUE(result.in_time);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "in\n");
  EXPECT_EQ(result.error, "bad\n");
}

TEST(ChildProcess, MoreThanAPipeHoldsPassesBothWays) {
  const std::string input(1 << 20, 'x');

  const ChildResult result = run_child({"sh", "-c", "tee /dev/stderr"}, input, milliseconds(20'000));

  EXPECT_EQ(result.out, input);
  EXPECT_EQ(result.error, input);
}

TEST(ChildProcess, AMissingProgramIsSaidToBeMissing) {
  const ChildResult result = run_child({"plumbline-no-such-program"}, "", milliseconds(10'000));

  EXPECT_FALSE(result.started);
  EXPECT_EQ(result.error, "No such file or directory");
}

TEST(ChildProcess, OneThatDoesNotEndIsKilledAtTheDeadline) {
  const auto start = std::chrono::steady_clock::now();

  const ChildResult result = run_child({"sleep", "60"}, "", milliseconds(100));

  EXPECT_FALSE(result.in_time);
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(ChildProcess, SpeaksTheCLocale) {
  const ChildResult result = run_child({"sh", "-c", "echo $LC_ALL"}, "", milliseconds(10'000));

  EXPECT_EQ(result.out, "C\n");
}

}  // namespace
}  // namespace plumbline
