// SPDX-License-Identifier: BSD-3-Clause
#include "support/error.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <new>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RunMain, ReturnsTheBodysCode) {
  for (const int code : {0, 1, 2}) EXPECT_EQ(run_main("plumbline", [&] { return code; }), code);
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

/// The exit code of a child process that runs `before` and then `body` as its program; -1: a signal ended it.
int code_of_program(const std::function<void()>& before, const std::function<int()>& body) {
  std::fflush(stdout);  // otherwise the child would write it again
  const pid_t child = ::fork();
  if (child == 0) {
    before();
    ::_exit(run_main("plumbline", body));
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void close_standard_streams() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(file);
}

void output_to_a_full_disk() {
  ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
}

TEST(RunMain, LostOutputIsASystemError) {
  const auto printing = [] {
    std::printf("all is well\n");
    return 0;
  };
  const auto streaming = [] {
    std::cout << "all is well\n";
    return 0;
  };
  const auto losing_what_is_not_the_last = [] {
    std::printf("all is well\n");
    std::fflush(stdout);
    return 0;
  };

  EXPECT_EQ(code_of_program(close_standard_streams, printing), 3);
  EXPECT_EQ(code_of_program(output_to_a_full_disk, printing), 3);
  EXPECT_EQ(code_of_program(output_to_a_full_disk, streaming), 3);
  EXPECT_EQ(code_of_program(output_to_a_full_disk, losing_what_is_not_the_last), 3);
  EXPECT_EQ(code_of_program(output_to_a_full_disk, [] { return 0; }), 0) << "without output nothing is lost";
}

TEST(RunMain, AnOpenedFileDoesNotReplaceAClosedStream) {
  EXPECT_EQ(
      code_of_program(close_standard_streams, [] { return ::open("/dev/null", O_WRONLY) > STDERR_FILENO ? 0 : 1; }), 0);
}

TEST(RunMain, ExceedingTheFileSizeLimitIsAWriteError) {
  const auto no_bytes_allowed = [] {
    ::signal(SIGXFSZ, SIG_DFL);  // as a shell starts a program
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
  };

  EXPECT_EQ(code_of_program(no_bytes_allowed,
                            [] {
                              std::FILE* file = std::tmpfile();
                              const bool refused = ::write(::fileno(file), "x", 1) == -1 && errno == EFBIG;
                              return refused ? 0 : 1;
                            }),
            0);
}

TEST(Failure, IsEmptyWithoutAnErrorAndOtherwiseHasItsMessage) {
  EXPECT_FALSE(failure_of([] {}));
  EXPECT_EQ(failure_of([] { throw RunError("a claim failed"); })->words, "a claim failed");
  EXPECT_EQ(failure_of([] { throw std::runtime_error("a bug"); })->words, "internal error: a bug");
}

TEST(Failure, NamesAnUnusablePathAsInput) {
  const testing::TemporaryFolder folder;
  std::filesystem::create_symlink("circle", folder / "circle");

  const Failure failure =
      failure_of([&] { static_cast<void>(std::filesystem::is_directory(folder / "circle")); }).value();

  EXPECT_EQ(failure.code, ExitCode::bad_input);
  EXPECT_THAT(failure.words, StartsWith((folder / "circle").string() + ": cannot be used: "));
  EXPECT_THAT(failure.words, HasSubstr("check the path"));
  EXPECT_THAT(failure.words, ::testing::Not(HasSubstr("filesystem error")));
}

TEST(Failure, NamesBothPaths) {
  const testing::TemporaryFolder folder;
  const Failure failure = failure_of([&] { std::filesystem::rename(folder / "absent", folder / "b"); }).value();

  EXPECT_THAT(failure.words,
              StartsWith((folder / "absent").string() + " and " + (folder / "b").string() + ": cannot be"));
}

TEST(Failure, ExplainsOutOfMemoryInPlainWords) {
  const auto largest = static_cast<std::size_t>(-1);
  const char* of_torch = "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory";

  for (const std::optional<Failure>& failure :
       {failure_of([] { throw std::bad_alloc(); }), failure_of([&] { std::vector<int>().reserve(largest); }),
        failure_of([&] { throw std::runtime_error(of_torch); })}) {
    EXPECT_EQ(failure->code, ExitCode::harness_failure);
    EXPECT_THAT(failure->words, StartsWith("out of memory; use a smaller model or batch"));
  }
}

}  // namespace
}  // namespace plumbline
