// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/launcher.hpp"
#include "support/error.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/fake_programs.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

/// A working folder with a program `tool`.
class FindProgram : public ::testing::Test {
 protected:
  FindProgram() {
    program(folder_, "tool", "exit 0");
    fs::current_path(folder_.path());
  }
  ~FindProgram() override { fs::current_path(before_); }

  fs::path before_ = fs::current_path();
  TemporaryFolder folder_;
};

TEST_F(FindProgram, ANameWithASlashIsAPath) {
  const EnvironmentVariable path("PATH", "/usr/bin");

  const fs::path found = find_program("./tool");

  EXPECT_TRUE(found.is_absolute());
  EXPECT_TRUE(fs::equivalent(found, folder_ / "tool"));
  EXPECT_THAT(error_of<SystemError>([] { find_program("./none"); }),
              AllOf(HasSubstr("./none: no such program"), HasSubstr("--trainers")));
}

TEST_F(FindProgram, FindsTheFirstExecutableOnPath) {
  folder_.file("cannot-be-started/tool", "");
  fs::create_directories(folder_ / "holds-a-folder/tool");
  for (const char* folder : {"first", "second"}) {
    fs::create_directory(folder_ / folder);
    fs::copy_file(folder_ / "tool", folder_ / folder / "tool");
  }
  std::string folders;
  for (const char* folder : {"none", "cannot-be-started", "holds-a-folder", "first", "second"})
    folders += (folder_ / folder).string() + ":";
  const EnvironmentVariable path("PATH", folders.c_str());

  EXPECT_EQ(find_program("tool"), folder_ / "first" / "tool");
}

TEST_F(FindProgram, AnEmptyEntryOfPathIsTheWorkingFolder) {
  const EnvironmentVariable path("PATH", "/none::/none");
  EXPECT_TRUE(fs::equivalent(find_program("tool"), folder_ / "tool"));
}

TEST_F(FindProgram, SearchesTheSystemsFoldersWithoutPath) {
  const EnvironmentVariable path("PATH", nullptr);
  EXPECT_EQ(find_program("sh").filename(), "sh");
  EXPECT_THAT(error_of<SystemError>([] { find_program("tool"); }), HasSubstr("tool is not on PATH; install it"));
  const EnvironmentVariable nowhere("PATH", "/none");
  EXPECT_THAT(error_of<SystemError>([] { find_program("mpirun"); }),
              HasSubstr("mpirun is not on PATH; install the Debian package openmpi-bin"));
}

}  // namespace
}  // namespace plumbline::testing
