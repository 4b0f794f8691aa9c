// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "support/csv.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// Larger than any chunk it is read in, of lines that end anywhere in one.
std::string many_rows(int rows) {
  std::string bytes = "number,text\n";
  for (int row = 0; row < rows; ++row)
    bytes += std::to_string(row) + ",\"" + std::string(static_cast<std::size_t>(row % 61), 'x') + "\n" + "\"\n";
  return bytes;
}

TEST(CsvStream, GivesEveryRowOnceAcrossAllChunks) {
  constexpr int rows = 20000;
  const TemporaryFolder folder;
  CsvStream stream(folder.file("t.csv", many_rows(rows)));

  int row = 0;
  for (CsvRow read; stream.next(read); ++row) {
    ASSERT_EQ(read.cells.size(), 2u);
    ASSERT_EQ(read.cells[0], std::to_string(row));
    ASSERT_EQ(read.cells[1], std::string(static_cast<std::size_t>(row % 61), 'x') + "\n");
    ASSERT_EQ(read.line, static_cast<std::size_t>(2 + 2 * row));
  }

  EXPECT_EQ(row, rows);
  EXPECT_THAT(stream.header, ElementsAre("number", "text"));
}

TEST(CsvStream, ALineLongerThanAChunkIsOneLine) {
  const TemporaryFolder folder;
  const std::string cell(200000, 'y');
  CsvStream stream(folder.file("t.csv", "a\n" + cell + "\n1\n"));

  CsvRow row;
  ASSERT_TRUE(stream.next(row));
  EXPECT_EQ(row.cells.at(0), cell);
  ASSERT_TRUE(stream.next(row));
  EXPECT_THAT(row.cells, ElementsAre("1"));
  EXPECT_FALSE(stream.next(row));
}

TEST(CsvStream, ErrorsFarBehindTheStartNameTheirLine) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& end) {
    const auto path = folder.file("t.csv", many_rows(5000) + end);
    return error_of<InputError>([&] {
      CsvStream stream(path);
      for (CsvRow row; stream.next(row);) continue;
    });
  };

  EXPECT_THAT(refusal("1,2\n3\n"), HasSubstr("t.csv:10003: the row has 1 fields"));
  EXPECT_THAT(refusal("1,\xFF\n"), HasSubstr("t.csv:10002:3: the byte 0xFF is not UTF-8"));
  EXPECT_THAT(refusal("1,2"), HasSubstr("t.csv:10002: the file ends without a line break"));
}

TEST(CsvStream, AnUnfinishedLineCanBeLeftOut) {
  const TemporaryFolder folder;
  CsvStream stream(folder.file("t.csv", "a,b\n1,2\n3"), UnfinishedLine::leave_out);

  CsvRow row;
  EXPECT_TRUE(stream.cut_off());
  EXPECT_TRUE(stream.next(row));
  EXPECT_FALSE(stream.next(row));
}

}  // namespace
}  // namespace plumbline
