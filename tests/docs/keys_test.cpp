// SPDX-License-Identifier: BSD-3-Clause
// The reference pages of run and sweep files, held to the keys that the readers know: a reader that meets a key it does
// not know names those that it does.
#include <gmock/gmock.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

using Keys = std::map<std::string, std::set<std::string>>;  ///< by the heading of their table

/// First cells of the tables under each heading of level two.
Keys documented(const fs::path& page) {
  static const std::regex heading(R"(^## (.*)$)"), row(R"(^\| `([a-z0-9_]+)` \|.*$)");
  Keys keys;
  std::string table;
  std::istringstream lines(read_file(page));
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, heading)) table = found[1];
    if (std::regex_match(line, found, row)) keys[table].insert(found[1]);
  }
  return keys;
}

class KnownKeys : public ::testing::Test {
 protected:
  /// What a program says to be known in place of a key that is nothing like any of them.
  std::set<std::string> known(const std::string& program, const std::string& file) {
    const auto path = folder_.file("asked.toml", file);
    const Ended ended =
        end_of(PLUMBLINE_BIN "/" + program + " " + path.string() +
                   (program == "plumbline-reference" ? " --record " + (folder_ / "record").string() : ""),
               folder_.path());
    static const std::regex list(R"(known here: ([a-z0-9_, ]+))");
    std::smatch found;
    if (!std::regex_search(ended.said, found, list)) {
      ADD_FAILURE() << ended.said;
      return {};
    }
    std::set<std::string> keys;
    std::istringstream words(found[1].str());
    for (std::string word; words >> word;) keys.insert(word.substr(0, word.find(',')));
    return keys;
  }

  TemporaryFolder folder_;
};

const std::string unlike = "qqqqqqqqqqqqqqqqqqqqqqqq = 1\n";

TEST_F(KnownKeys, OfRunFilesAreThoseOfThePage) {
  const Keys pages = documented(PLUMBLINE_SOURCE "/docs/run-file.md");
  ASSERT_EQ(pages.size(), 7U);
  const std::string fixtures = PLUMBLINE_SOURCE "/fixtures";
  const std::map<std::string, std::string> right = {
      {"[model]", "config = \"" + fixtures + "/models/stories260k/config.json\"\n"},
      {"[data]", "text = \"" + fixtures + "/corpus\"\nvalidation = \"" + fixtures + "/corpus\"\nlengths = [4]\n"},
      {"[train]", "steps = 1\n"},
      {"[pipeline]", ""},
      {"[evaluate]", ""},
      {"[checkpoint]", "folder = \"checkpoints\"\n"},
      {"[record]", ""}};
  for (const auto& [table, keys] : pages) {
    ASSERT_TRUE(right.contains(table)) << table;
    std::string file;
    for (const auto& [each, lines] : right) file += each + "\n" + lines + (each == table ? unlike : "");

    EXPECT_EQ(known("plumbline-reference", file), keys) << table;
  }
}

TEST_F(KnownKeys, OfSweepFilesAreThoseOfThePage) {
  const Keys pages = documented(PLUMBLINE_SOURCE "/docs/sweep-file.md");
  ASSERT_EQ(pages.size(), 2U);  // beside them one of placeholders, which are no keys
  const std::string cell = "[[cell]]\nrun = \"" PLUMBLINE_SOURCE "/fixtures/runs/quick.toml\"\nworld_size = 1\n";

  EXPECT_EQ(known("plumbline sweep", unlike + cell), pages.at("Keys of the file"));
  EXPECT_EQ(known("plumbline sweep", cell + unlike), pages.at("[[cell]]"));
}

TEST_F(KnownKeys, TheChecksPageHasEveryCheckInTheOrderOfTheTableAndNoOther) {
  const std::string cell =
      "checks = [\"q\"]\n[[cell]]\nrun = \"" PLUMBLINE_SOURCE "/fixtures/runs/quick.toml\"\nworld_size = 1\n";
  const auto file = folder_.file("asked.toml", cell);
  const std::string said = end_of(PLUMBLINE_BIN "/plumbline sweep " + file.string(), folder_.path()).said;
  static const std::regex list(R"(Known are ([a-z_, ]+))"), heading(R"(^## ([a-z_]+)$)");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(said, found, list)) << said;
  std::string headings;
  std::istringstream lines(read_file(PLUMBLINE_SOURCE "/docs/checks.md"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch name;
    if (std::regex_match(line, name, heading)) headings += (headings.empty() ? "" : ", ") + name[1].str();
  }

  EXPECT_EQ(headings, found[1].str());
}

TEST(ChecksPage, IsWhatTheChecksSayOfThemselves) {
  const std::string page = read_file(PLUMBLINE_SOURCE "/docs/checks.md");
  const auto first = page.find("## What is compared"), behind = page.find("\n## Of each reference");
  TemporaryFolder folder;

  EXPECT_EQ(page.substr(first, behind - first),
            end_of(PLUMBLINE_BIN "/plumbline record rules --markdown", folder.path()).said)
      << "write them again by that command";
}

TEST(DocumentedKeys, AreReadFromThePagesTables) {
  TemporaryFolder folder;
  const auto page =
      folder.file("page.md", "## [one]\n| key | type |\n|---|---|\n| `a_1` | x |\n\n## other\n| `b` | y |\n");

  EXPECT_EQ(documented(page), (Keys{{"[one]", {"a_1"}}, {"other", {"b"}}}));
}

}  // namespace
}  // namespace plumbline::testing
