#include "support/error.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace plumbline {
namespace {

TEST(RunMain, ReturnsTheBodysOwnCode) {
  EXPECT_EQ(run_main("plumbline", [] { return 0; }), 0);
  EXPECT_EQ(run_main("plumbline", [] { return 1; }), 1);
}

TEST(RunMain, TurnsEachErrorIntoItsExitCode) {
  EXPECT_EQ(run_main("plumbline", []() -> int { throw RunError("a claim failed"); }), 1);
  EXPECT_EQ(run_main("plumbline", []() -> int { throw InputError("a key is wrong"); }), 2);
  EXPECT_EQ(run_main("plumbline", []() -> int { throw SystemError("disk full"); }), 3);
  EXPECT_EQ(run_main("plumbline", []() -> int { throw std::bad_alloc(); }), 3);
  EXPECT_EQ(run_main("plumbline", []() -> int { throw std::runtime_error("a bug"); }), 3);
  EXPECT_EQ(run_main("plumbline", []() -> int { throw 7; }), 3);
  EXPECT_EQ(run_main("plumbline", []() -> int { throw std::filesystem::filesystem_error("no rights", {}); }), 2);
}

TEST(RunMain, PrintsProgramAndMessage) {
  ::testing::internal::CaptureStderr();

  run_main("plumbline-reference", []() -> int { throw InputError("run.toml: no such file"); });

  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "plumbline-reference: run.toml: no such file\n");
}

}  // namespace
}  // namespace plumbline
