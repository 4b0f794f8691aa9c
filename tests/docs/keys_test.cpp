// SPDX-License-Identifier: BSD-3-Clause
// The page of the checks must match what the program prints about them.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

TEST(ChecksPage, ListsExactlyTheChecksInTheTablesOrder) {
  const std::string cell =
      "checks = [\"q\"]\n[[cell]]\nrun = \"" + source_path() + "/fixtures/runs/quick.toml\"\nworld_size = 1\n";
  const TemporaryFolder folder;
  const auto file = folder.file("asked.toml", cell);
  const std::string output = end_of(bin_path() + "/plumbline sweep " + file.string(), folder.path()).output;
  static const std::regex list(R"(give one of ([a-z_, ]+))"), heading(R"(^## ([a-z_]+)$)");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(output, found, list)) << output;
  std::string headings;
  std::istringstream lines(read_file(source_path() + "/docs/checks.md"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch name;
    if (std::regex_match(line, name, heading)) headings += (headings.empty() ? "" : ", ") + name[1].str();
  }

  EXPECT_EQ(headings, found[1].str());
}

TEST(ChecksPage, MatchesTheChecksDescriptions) {
  const std::string page = read_file(source_path() + "/docs/checks.md");
  const auto first = page.find("## What is compared"), behind = page.find("\n## Of each reference");
  TemporaryFolder folder;

  EXPECT_EQ(page.substr(first, behind - first),
            end_of(bin_path() + "/plumbline record rules --markdown", folder.path()).output)
      << "run that command and paste its output";
}

}  // namespace
}  // namespace plumbline::testing
