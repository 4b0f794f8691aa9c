// SPDX-License-Identifier: BSD-3-Clause
// The architecture page must match the code that it draws and quotes.
#include <gmock/gmock.h>

#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

/// The content of the page's first code block in this language.
std::string block_of(const std::string& page, const std::string& language) {
  const std::string opening = "```" + language + "\n";
  const std::size_t begin = page.find(opening) + opening.size();
  return page.substr(begin, page.find("```\n", begin) - begin);
}

class ArchitecturePage : public ::testing::Test {
 protected:
  const std::string page_ = read_file(source_path() + "/docs/architecture.md");
};

TEST_F(ArchitecturePage, DiagramMatchesTheIncludes) {
  const TemporaryFolder folder;
  const Ended components = end_of(source_path() + "/scripts/components", folder.path());

  ASSERT_EQ(components.code, 0);
  EXPECT_EQ(block_of(page_, "mermaid"), components.output) << "put the output of scripts/components there";
}

}  // namespace
}  // namespace plumbline::testing
