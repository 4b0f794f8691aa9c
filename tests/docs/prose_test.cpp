// SPDX-License-Identifier: BSD-3-Clause
// Lines of prose in Markdown are wrapped, so that a diff shows which sentence changed.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "tests/paths.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest = 119;

std::vector<fs::path> pages() {
  const fs::path source = source_path();
  std::vector<fs::path> found = {source / "README.md", source / "CONTRIBUTING.md", source / "python" / "README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(source / "docs")) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  return found;
}

/// Code (fenced, or indented by four), tables and images may be longer.
std::vector<std::string> prose(const std::string& page) {
  std::vector<std::string> lines;
  bool fenced = false;
  std::istringstream in(page);
  for (std::string line; std::getline(in, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent == std::string::npos) continue;
    if (line.compare(indent, 3, "```") == 0) fenced = !fenced;
    const bool other = line[indent] == '|' || line[indent] == '<' || line.compare(indent, 2, "![") == 0;
    if (!fenced && indent < 4 && !other) lines.push_back(line);
  }
  return lines;
}

TEST(Markdown, ProseLinesAreShorterThan120Characters) {
  std::size_t checked = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& line : prose(read_file(page))) {
      EXPECT_LE(line.size(), longest) << page << ": wrap this line:\n" << line;
      ++checked;
    }
  }
  EXPECT_GT(checked, 1000U);
}

}  // namespace
}  // namespace plumbline::testing
