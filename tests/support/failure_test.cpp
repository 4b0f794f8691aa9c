// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <filesystem>
#include <new>
#include <vector>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Failure, IsNoneWhereNothingIsThrown) {
  EXPECT_FALSE(failure_of([] {}));
}

TEST(Failure, OurOwnErrorsSayWhatTheySay) {
  const Failure failure = failure_of([] { throw RunError("a claim failed"); }).value();

  EXPECT_EQ(failure.code, ExitCode::does_not_hold);
  EXPECT_EQ(failure.words, "a claim failed");
}

TEST(Failure, APathThatCannotBeUsedIsNamedAsInput) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_symlink("circle", folder / "circle");

  const Failure failure =
      failure_of([&] { static_cast<void>(std::filesystem::is_directory(folder / "circle")); }).value();

  EXPECT_EQ(failure.code, ExitCode::bad_input);
  EXPECT_THAT(failure.words, StartsWith((folder / "circle").string() + ": cannot be used: "));
  EXPECT_THAT(failure.words, HasSubstr("check the path"));
  EXPECT_THAT(failure.words, ::testing::Not(HasSubstr("filesystem error")));
}

TEST(Failure, OfTwoPathsBothAreNamed) {
  const testing::TemporaryFolder folder;
  const Failure failure = failure_of([&] { std::filesystem::rename(folder / "absent", folder / "b"); }).value();

  EXPECT_THAT(failure.words,
              StartsWith((folder / "absent").string() + " and " + (folder / "b").string() + ": cannot be"));
}

TEST(Failure, MemoryThatRanOutIsToldInPlainWords) {
  const auto largest = static_cast<std::size_t>(-1);
  const char* of_torch = "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory";

  for (const std::optional<Failure>& failure :
       {failure_of([] { throw std::bad_alloc(); }), failure_of([&] { std::vector<int>().reserve(largest); }),
        failure_of([&] { throw std::runtime_error(of_torch); })}) {
    EXPECT_EQ(failure->code, ExitCode::harness_failure);
    EXPECT_THAT(failure->words, StartsWith("out of memory; use a smaller model or batch"));
  }
}

TEST(Failure, WhatNobodyForesawIsAnInternalError) {
  const Failure failure = failure_of([] { throw std::runtime_error("a bug"); }).value();

  EXPECT_EQ(failure.code, ExitCode::harness_failure);
  EXPECT_EQ(failure.words, "internal error: a bug");
}

}  // namespace
}  // namespace plumbline
