// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/linked_libraries.hpp"

#include "support/error.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

TEST(LinkedLibraries, OfThisProgramExist) {
  const auto libraries = linked_libraries(std::filesystem::read_symlink("/proc/self/exe"));

  EXPECT_THAT(libraries,
              Contains(::testing::ResultOf([](const auto& path) { return path.filename().string(); }, "libc.so.6")));
  for (const auto& library : libraries) EXPECT_TRUE(std::filesystem::exists(library)) << library;
}

TEST(LinkedLibraries, OfAScriptAreEmpty) {
  const TemporaryFolder folder;

  EXPECT_THAT(linked_libraries(program(folder, "script", "exit 0\n")), IsEmpty());
}

/// With this program in place of ldd, or without ldd if it is empty.
std::vector<std::filesystem::path> libraries_with_ldd(const std::string& ldd) {
  const TemporaryFolder programs;
  if (!ldd.empty()) program(programs, "ldd", ldd);
  const EnvironmentVariable path("PATH", programs.path().c_str());
  return linked_libraries("trainer");
}

TEST(LinkedLibraries, AreSortedWithoutMissingOnes) {
  EXPECT_THAT(libraries_with_ldd(R"(
printf '\tlinux-vdso.so.1 (0x00007ffe)\n\tlibz.so => /usr/lib/libz (0x1)/libz.so (0x00007f01)\n'
printf '\tlibm.so.6 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f02)\n\tliba.so => /lib/liba.so\n'
)"),
              ElementsAre("/lib/libc.so.6", "/usr/lib/libz (0x1)/libz.so"));
}

TEST(LinkedLibraries, AreUnknownWithoutLdd) {
  EXPECT_THAT(libraries_with_ldd(""), IsEmpty());
}

TEST(LinkedLibraries, LeaveNothingInTheWorkingFolder) {
  const TemporaryFolder here;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(here.path());

  libraries_with_ldd("exit 0");

  std::filesystem::current_path(before);
  EXPECT_TRUE(std::filesystem::is_empty(here.path()));
}

TEST(LinkedLibraries, CtrlCInterruptsLdd) {
  EXPECT_THAT(error_of<SystemError>([] { libraries_with_ldd("kill -INT $PPID; while :; do :; done"); }),
              StartsWith("stopped by SIGINT"));
}

}  // namespace
}  // namespace plumbline::testing
