// SPDX-License-Identifier: BSD-3-Clause
// The main function of all test binaries that run as one process.
#include <fnmatch.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <string>

#include "tests/one_thread.hpp"

namespace {

bool matches_a_test(const std::string& pattern) {
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int suite = 0; suite < all.total_test_suite_count(); ++suite) {
    const auto& tests = *all.GetTestSuite(suite);
    for (int test = 0; test < tests.total_test_count(); ++test) {
      const std::string name = std::string(tests.name()) + "." + tests.GetTestInfo(test)->name();
      if (::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
    }
  }
  return false;
}

/// Whether each pattern of --gtest_filter selects a test. Otherwise a filter in a CMakeLists.txt would silently select
/// nothing after a test is renamed.
bool filter_is_current() {
  std::string filter = GTEST_FLAG_GET(filter);
  if (const auto minus = filter.find('-'); minus != std::string::npos) filter[minus] = ':';
  bool current = true;
  for (const auto part : filter | std::views::split(':')) {
    const std::string pattern(part.begin(), part.end());
    if (pattern.empty() || matches_a_test(pattern)) continue;
    std::fprintf(stderr, "--gtest_filter: no test matches %s\n", pattern.c_str());
    current = false;
  }
  return current;
}

/// Tests write thousands of small files and fsync each, which is six times faster in memory than on a disk.
void keep_temporary_files_in_memory() {
  constexpr const char* memory = "/dev/shm";
  std::error_code absent;
  const auto space = std::filesystem::space(memory, absent);
  const bool large = !absent && space.available >= std::uintmax_t{4} << 30U;
  if (large && ::access(memory, W_OK | X_OK) == 0) ::setenv("TMPDIR", memory, 0);
}

}  // namespace

int main(int argc, char** argv) {
  plumbline::testing::use_one_thread(argv);
  keep_temporary_files_in_memory();
  ::testing::InitGoogleMock(&argc, argv);
  const bool current = filter_is_current();  // run the tests in any case
  return RUN_ALL_TESTS() != 0 || !current ? 1 : 0;
}
