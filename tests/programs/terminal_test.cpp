// SPDX-License-Identifier: BSD-3-Clause
// What a sweep prints for people, in lines of 80 columns: golden files with times masked (tests/programs/terminal).
// PLUMBLINE_WRITE_GOLDENS=1 writes them.
#include <gmock/gmock.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

/// As a terminal shows it: only the last text of an overwritten line.
std::string as_shown(const std::string& bytes) {
  std::istringstream lines(std::regex_replace(bytes, std::regex("\r\n"), "\n"));
  std::string shown;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t over = line.rfind("\r\x1b[K");
    shown += (over == std::string::npos ? line : line.substr(over + 4)) + "\n";
  }
  return shown;
}

class Terminal : public ::testing::Test {
 protected:
  Terminal() {
    script("launcher",
           "world=$1; shift\n[ \"$world\" = 2 ] && [ -e stop ] && { kill -INT $PPID; sleep 20; }\n"
           "exec \"$@\" --transport threads --ranks $world\n");
    folder_.file("sweep.toml", "launcher = \"" + (folder_ / "launcher").string() +
                                   " {world}\"\nworld_sizes = [1, 2]\nschedules = [\"1f1b\"]\nrun = [\"" +
                                   fixtures_path() + "/runs/quick.toml\"]\n");
  }
  void script(const std::string& name, const std::string& body) {
    fs::permissions(folder_.file(name, "#!/bin/bash\n" + body), fs::perms::owner_all);
  }
  /// Runs in the folder, so that no line depends on the length of the folder's name.
  Ended sweep(const std::string& options, const std::string& around = "%") {
    const std::string command = "plumbline sweep sweep.toml --out out " + options;
    return end_of("( cd " + folder_.path().string() + " && PATH=" + bin() + ":$PATH && export COLUMNS=80 && " +
                      std::regex_replace(around, std::regex("%"), command) + " 2>&1 )",
                  folder_.path());
  }
  static void expect_golden(const std::string& name, const std::string& said) {
    const fs::path golden = fs::path(source_path()) / "tests/programs/terminal" / (name + ".txt");
    const std::string times = std::regex_replace(said, std::regex("[0-9]+(\\.[0-9])? s\\b"), "T s");
    // A case that ends early is not always shown as running before.
    const std::string shown = std::regex_replace(times, std::regex(".*  running T s, .*\n"), "");
    // The numbers of an element depend on the processor.
    const std::string masked =
        std::regex_replace(shown, std::regex(";\\s+element\\s[^]*?elements\\s+differ"), "; ELEMENT");
    if (std::getenv("PLUMBLINE_WRITE_GOLDENS") != nullptr) write_file(golden, masked);
    EXPECT_EQ(masked, read_file(golden));
    std::istringstream lines(masked);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
  TemporaryFolder folder_;
};

TEST_F(Terminal, ASweepThatHolds) {
  const Ended ended = sweep("");

  EXPECT_EQ(ended.code, 0);
  expect_golden("green", ended.output);
}

// One bit of an activation is flipped. The programs' commits do not matter, since a working tree's may differ.
TEST_F(Terminal, ASweepThatDoesNotHold) {
  fs::create_directory(folder_ / "trainers");
  const std::string same_commit =
      "while [ $1 != --record ]; do shift; done\nsed -i 's/\"commit\": *\"[^\"]*\"/\"commit\":\"c\"/' "
      "$2/manifest.json\n";
  script("trainers/plumbline-reference", bin() + "/plumbline-reference \"$@\" || exit\n" + same_commit);
  script("trainers/plumbline-pipeline",
         bin() + "/plumbline-mutant --fault H3@rank=0,microbatch=1,step=1 \"$@\" || exit\n" + same_commit);

  const Ended ended = sweep("--trainers trainers --cells '*-w2'");

  EXPECT_EQ(ended.code, 1);
  expect_golden("red", ended.output);
}

TEST_F(Terminal, ASweepThatIsInterrupted) {
  folder_.file("stop", "");

  const Ended ended = sweep("", "script -qec 'stty cols 80; %' /dev/null < /dev/null");

  EXPECT_EQ(ended.code, 3);
  expect_golden("interrupted", as_shown(ended.output));
}

}  // namespace
}  // namespace plumbline::testing
