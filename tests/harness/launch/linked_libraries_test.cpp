#include "harness/launch/linked_libraries.hpp"

#include <gmock/gmock.h>

#include "tests/harness/fake_programs.hpp"

namespace plumbline::testing {
namespace {

TEST(LinkedLibraries, OfThisProgramAreFilesThatAreThere) {
  const auto libraries = linked_libraries(std::filesystem::read_symlink("/proc/self/exe"));

  EXPECT_THAT(libraries, ::testing::Contains(::testing::ResultOf(
                             [](const auto& path) { return path.filename().string(); }, "libc.so.6")));
  for (const auto& library : libraries) EXPECT_TRUE(std::filesystem::exists(library)) << library;
}

TEST(LinkedLibraries, OfAScriptAreNone) {
  const TemporaryFolder folder;

  EXPECT_THAT(linked_libraries(program(folder, "script", "exit 0\n")), ::testing::IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
