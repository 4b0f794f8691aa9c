// SPDX-License-Identifier: BSD-3-Clause
// main of an instrumented test program. With $SERVE_TESTS it reads requests, mutant|reached|seconds|output|filter, one
// on each line, and answers each with exit status (or -signal, -99 past the limit) and seconds. Every request runs in a
// fork, so that LibTorch is loaded once.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>

#include "line_mutant.hpp"

namespace {

struct Request {
  std::string mutant, reached, seconds, output, filter;

  explicit Request(const std::string& line) {
    std::istringstream in(line);
    for (std::string* part : {&mutant, &reached, &seconds, &output}) std::getline(in, *part, '|');
    std::getline(in, filter);
  }
};

[[noreturn]] void run(const Request& request, char* program) {
  setpgid(0, 0);
  if (!std::freopen("/dev/null", "r", stdin) || !std::freopen(request.output.c_str(), "w", stdout)) _exit(98);
  dup2(fileno(stdout), 2);
  unsetenv("SERVE_TESTS");
  setenv("MUTANT", request.mutant.c_str(), 1);
  line_mutant::the_switch().chosen = std::stoi(request.mutant);
  if (!request.reached.empty()) {
    setenv("MUTANT_REACHED", request.reached.c_str(), 1);
    line_mutant::the_switch().note_in(request.reached.c_str());
  }
  std::string brief = "--gtest_brief=1", first = "--gtest_fail_fast", filter = "--gtest_filter=" + request.filter;
  char* arguments[] = {program, brief.data(), first.data(), filter.data(), nullptr};
  int count = 4;
  ::testing::InitGoogleTest(&count, arguments);
  const int code = RUN_ALL_TESTS();
  std::cout.flush();
  std::fflush(nullptr);
  _exit(code);
}

void answer(const Request& request, char* program) {
  using Clock = std::chrono::steady_clock;
  const auto begun = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begun).count(); };
  const pid_t child = fork();
  if (child == 0) run(request, program);
  int status = 0;
  bool late = false;
  for (auto nap = std::chrono::microseconds(500); waitpid(child, &status, WNOHANG) != child;
       nap = std::min(2 * nap, std::chrono::microseconds(10000))) {
    if (seconds() > std::stod(request.seconds)) {
      late = true;
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    std::this_thread::sleep_for(nap);
  }
  kill(-child, SIGKILL);  // processes that it started and left
  const int code = late ? -99 : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  std::cout << code << ' ' << seconds() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (!std::getenv("SERVE_TESTS")) {
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  for (std::string line; std::getline(std::cin, line);) answer(Request(line), argv[0]);
  return 0;
}
