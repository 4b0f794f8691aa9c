// SPDX-License-Identifier: BSD-3-Clause
#include "support/csv.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/file_lines.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

class Csv : public ::testing::Test {
 protected:
  CsvTable read(const std::string& bytes) const { return read_csv(folder.file("t.csv", bytes)); }
  std::string refusal(const std::string& bytes) const {
    return error_of<InputError>([&] { read(bytes); });
  }
  TemporaryFolder folder;
};

TEST_F(Csv, RowsKnowTheirLine) {
  const CsvTable table = read("a,b\n1,\n\"x\ny\",\"say \"\"so\"\"\"\n,3\n");

  EXPECT_THAT(table.header, ElementsAre("a", "b"));
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_THAT(table.rows[0].cells, ElementsAre("1", ""));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("x\ny", "say \"so\""));
  EXPECT_THAT(table.rows[2].cells, ElementsAre("", "3"));
  EXPECT_EQ(table.rows[0].line, 2u);
  EXPECT_EQ(table.rows[1].line, 3u);
  EXPECT_EQ(table.rows[2].line, 5u);
}

TEST_F(Csv, KeepsSpacesInCells) {
  EXPECT_THAT(read("a,b\n x ,\" y \"\n").rows[0].cells, ElementsAre(" x ", " y "));
}

TEST_F(Csv, AcceptsCarriageReturnsBeforeLineFeeds) {
  const CsvTable table = read("a,b\r\n1,2\r\n\"3\r\n4\",5\r\n");

  EXPECT_THAT(table.header, ElementsAre("a", "b"));
  EXPECT_THAT(table.rows[0].cells, ElementsAre("1", "2"));
  EXPECT_THAT(table.rows[1].cells, ElementsAre("3\r\n4", "5"));
}

TEST_F(Csv, AByteOrderMarkIsNotPartOfTheFirstColumn) {
  EXPECT_THAT(read("\xEF\xBB\xBF"
                   "a,b\n1,2\n")
                  .header,
              ElementsAre("a", "b"));
}

TEST_F(Csv, RefusesInvalidTextAndNamesThePlace) {
  EXPECT_THAT(refusal("a,b\n1,x\xFFy\n"), HasSubstr("t.csv:2:4: the byte 0xFF is not UTF-8"));
  EXPECT_THAT(refusal(std::string("a,b\n1,\0\n", 8)), HasSubstr("t.csv:2:3: the byte 0x00 is a control character"));
  EXPECT_THAT(error_of<InputError>([&] { read_headless_csv(folder.file("s.csv", "0F0,0B0\n\xC3(\n")); }),
              HasSubstr("s.csv:2:1: the byte 0xC3 is not UTF-8"));
}

TEST_F(Csv, NamesFileAndLineOfBrokenCsv) {
  for (const auto& [bytes, words] : {
           std::pair{"a,b\n1,2\n3,4", "t.csv:3: the file ends without a line break; it is truncated"},
           {"a,b\n1,\"2\n3,4\n", "t.csv:2: the quoted field"},
           {"", "t.csv:1: the file is empty"},
           {"a,b\n1,2\n3\n", "t.csv:3: the row has 1 fields, the header names 2 columns"},
           {"a,b\n1,2,3\n", "t.csv:2: the row has 3 fields"},
           {"a,b\n1,2\n\n3,4\n", "t.csv:3: the row has 0 fields"},
           {"a,b\r\n\r\n", "t.csv:2: the row has 0 fields"},
           {"a,b\n1,x\"y\n", "t.csv:2: a quote is inside"},
           {"a,b\n1,\"x\"y\n", "t.csv:2: a quote is inside"},
           {"a,b\n1,2\r3,4\n", "t.csv:2: a carriage return"},
           {"a,b\n\r1,2\n", "t.csv:2: a carriage return"},
       })
    EXPECT_THAT(refusal(bytes), HasSubstr(words));
}

TEST_F(Csv, RefusesAMissingOrDuplicateColumn) {
  const auto path = folder.file("t.csv", "a,b\n1,2\n");

  EXPECT_THAT(error_of<InputError>([&] { read_csv(path, {"a", "c"}); }), EndsWith("t.csv:1: column 'c' is missing"));
  EXPECT_THAT(error_of<InputError>([&] { read_csv(path).column("c"); }), EndsWith("t.csv:1: column 'c' is missing"));
  EXPECT_THAT(refusal("a,b,a\n1,2,3\n"), EndsWith("t.csv:1: column 'a' is listed twice"));
}

TEST_F(Csv, FindsColumnsByName) {
  const CsvTable table = read("a,b,extra\n1,2,3\n");

  EXPECT_EQ(table.column("b"), 1u);
  EXPECT_TRUE(table.has("extra"));
  EXPECT_FALSE(table.has("c"));
}

TEST_F(Csv, AHeadlessTableMayBeRagged) {
  const CsvTable table = read_headless_csv(folder.file("s.csv", "0F0,0B0\n\n1F0\n"));

  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_THAT(table.rows[0].cells, ElementsAre("0F0", "0B0"));
  EXPECT_THAT(table.rows[1].cells, ElementsAre());
  EXPECT_THAT(table.rows[2].cells, ElementsAre("1F0"));
  EXPECT_TRUE(table.header.empty());
}

TEST_F(Csv, RoundTrips) {
  const std::vector<std::string> cells{"", "plain", "a,b", "say \"so\"", "two\nlines", "cr\r", " blanks "};
  for (const auto& [header, row] : {std::pair{std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g"}, cells},
                                    {{"a"}, {""}}}) {  // a row with one empty cell is not an empty line
    CsvWriter writer(folder / "w.csv", header);
    EXPECT_THROW(writer.row({"1", "2"}), std::logic_error) << "another number of columns";
    writer.row(row);
    writer.flush();
    EXPECT_EQ(read_csv(folder / "w.csv").rows.at(0).cells, row);
  }
}

TEST_F(Csv, LinesEndInALineFeedOnly) {
  EXPECT_EQ(csv_line({"a", "b,c", ""}), "a,\"b,c\",\n");
  EXPECT_EQ(csv_line({}), "\n");
}

TEST_F(Csv, AFullDiskIsASystemError) {
  EXPECT_THAT(error_of<SystemError>([] { CsvWriter("/dev/full", {"a"}); }),
              HasSubstr("/dev/full: cannot be written: No space"));
  EXPECT_THAT(error_of<SystemError>([&] { CsvWriter(folder / "absent/w.csv", {"a"}); }), HasSubstr("No such file"));
}

/// Rows larger than the chunks in which files are read, so that lines end anywhere in a chunk.
std::string many_rows(int rows) {
  std::string bytes = "number,text\n";
  for (int row = 0; row < rows; ++row)
    bytes += std::to_string(row) + ",\"" + std::string(static_cast<std::size_t>(row % 61), 'x') + "\n" + "\"\n";
  return bytes;
}

TEST_F(Csv, ReturnsEveryRowOnceAcrossChunks) {
  constexpr int rows = 20000;
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

TEST_F(Csv, ALineMayBeLongerThanAChunk) {
  const std::string cell(200000, 'y');
  CsvStream stream(folder.file("t.csv", "a\n" + cell + "\n1\n"));

  CsvRow row;
  ASSERT_TRUE(stream.next(row));
  EXPECT_EQ(row.cells.at(0), cell);
  ASSERT_TRUE(stream.next(row));
  EXPECT_THAT(row.cells, ElementsAre("1"));
  EXPECT_FALSE(stream.next(row));
}

TEST_F(Csv, ErrorsFarFromTheStartNameTheirLine) {
  EXPECT_THAT(refusal(many_rows(5000) + "1,2\n3\n"), HasSubstr("t.csv:10003: the row has 1 fields"));
  EXPECT_THAT(refusal(many_rows(5000) + "1,\xFF\n"), HasSubstr("t.csv:10002:3: the byte 0xFF is not UTF-8"));
  EXPECT_THAT(refusal(many_rows(5000) + "1,2"), HasSubstr("t.csv:10002: the file ends without a line break"));
}

TEST_F(Csv, AnUnfinishedLineCanBeLeftOut) {
  CsvStream stream(folder.file("t.csv", "a,b\n1,2\n3"), UnfinishedLine::leave_out);

  CsvRow row;
  EXPECT_TRUE(stream.cut_off());
  EXPECT_TRUE(stream.next(row));
  EXPECT_FALSE(stream.next(row));
}

/// More lines than fit into one chunk of the reader.
constexpr int many = 100'000;

int count_lines(FileLines& lines) {
  int count = 0;
  for (std::string_view line; lines.next(line);) ++count;
  return count;
}

TEST(FileLines, LeavesOutOnlyTheUnfinishedLine) {
  const TemporaryFolder folder;
  FileLines lines(folder.file("t.csv", std::string(many, '\n') + "half"), UnfinishedLine::leave_out);

  EXPECT_TRUE(lines.cut_off());
  EXPECT_EQ(count_lines(lines), many);
}

TEST(FileLines, LeavesOutNothingOfAWholeFile) {
  const TemporaryFolder folder;
  FileLines lines(folder.file("t.csv", "a\nb\n"), UnfinishedLine::leave_out);

  EXPECT_FALSE(lines.cut_off());
  EXPECT_EQ(count_lines(lines), 2);
}

TEST(FileLines, RefusesAnUnfinishedLineBeforeTheFirstLine) {
  const TemporaryFolder folder;
  const auto path = folder.file("t.csv", "a\nb\nhalf");

  EXPECT_THAT(error_of<InputError>([&] { FileLines(path, UnfinishedLine::refuse); }),
              HasSubstr("t.csv:3: the file ends without a line break"));
}

TEST(FileLines, RefusesALineOfMoreThan64Mebibytes) {
  const TemporaryFolder folder;
  const auto path = folder.file("t.csv", "a\n" + std::string((64U << 20U) + (1U << 16U), 'x') + "\n");
  FileLines lines(path, UnfinishedLine::refuse);

  EXPECT_THAT(error_of<InputError>([&] { count_lines(lines); }), HasSubstr("t.csv:2: a line of more than 64 MiB"));
}

TEST(FileLines, AFileOfOnlyAByteOrderMarkIsEmpty) {
  const TemporaryFolder folder;
  const auto path = folder.file("t.csv", "\xEF\xBB\xBF");

  EXPECT_THAT(error_of<InputError>([&] { FileLines(path, UnfinishedLine::refuse); }),
              HasSubstr("t.csv:1: the file is empty"));
}

TEST(FileLines, AFileThatShrinksEndsWithWhatWasRead) {
  const TemporaryFolder folder;
  const auto path = folder.file("t.csv", std::string(many, '\n'));
  FileLines lines(path, UnfinishedLine::refuse);

  std::filesystem::resize_file(path, 1);

  EXPECT_LT(count_lines(lines), many);
}

TEST(FileLines, ALineBreakAnywhereMakesAWholeLine) {
  const TemporaryFolder folder;

  for (const int before : {0, 1, many / 2, many}) {
    const std::string line(static_cast<std::size_t>(before), 'x');
    EXPECT_TRUE(has_whole_line(folder.file("t.csv", line + "\n"))) << before;
    EXPECT_FALSE(has_whole_line(folder.file("t.csv", line))) << before;
  }
}

}  // namespace
}  // namespace plumbline
