// SPDX-License-Identifier: BSD-3-Clause
#include "support/file_memo.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

TEST(FileMemo, MakesAValueOnceUntilTheFileChanges) {
  const TemporaryFolder folder;
  FileMemo<int> memo;
  int made = 0;
  const auto value = [&](const std::string& name, const std::string& variant = "") {
    return *memo.of(folder / name, variant, [&] { return ++made; });
  };
  folder.file("a", "1");
  EXPECT_EQ(value("a"), 1);
  EXPECT_EQ(value("./a"), 1);
  EXPECT_EQ(value("a", "torch"), 2);
  folder.file("a", "12");
  EXPECT_EQ(value("a"), 3);
  EXPECT_THROW(memo.of(folder / "b", "", []() -> int { throw std::runtime_error("damaged"); }), std::runtime_error);
  EXPECT_EQ(value("b"), 4);
}

}  // namespace
}  // namespace plumbline::testing
