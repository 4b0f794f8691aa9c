// SPDX-License-Identifier: BSD-3-Clause
// Line ends in files larger than one chunk, and the end of the file.
#include "support/file_lines.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// So many that no reader takes them at once.
constexpr int many = 100'000;

int count_lines(FileLines& lines) {
  int count = 0;
  for (std::string_view line; lines.next(line);) ++count;
  return count;
}

TEST(FileLines, AnUnfinishedLineFarBehindIsTheOnlyOneLeftOut) {
  const TemporaryFolder folder;
  FileLines lines(folder.file("t.csv", std::string(many, '\n') + "half"), UnfinishedLine::leave_out);

  EXPECT_TRUE(lines.cut_off());
  EXPECT_EQ(count_lines(lines), many);
}

TEST(FileLines, OfAWholeFileNothingIsLeftOut) {
  const TemporaryFolder folder;
  FileLines lines(folder.file("t.csv", "a\nb\n"), UnfinishedLine::leave_out);

  EXPECT_FALSE(lines.cut_off());
  EXPECT_EQ(count_lines(lines), 2);
}

TEST(FileLines, AnUnfinishedLineIsRefusedBeforeAnyIsGiven) {
  const TemporaryFolder folder;
  const auto path = folder.file("t.csv", "a\nb\nhalf");

  EXPECT_THAT(error_of<InputError>([&] { FileLines(path, UnfinishedLine::refuse); }),
              HasSubstr("t.csv:3: the file ends without a line break"));
}

TEST(FileLines, AByteOrderMarkAloneIsAnEmptyFile) {
  const TemporaryFolder folder;
  const auto path = folder.file("t.csv", "\xEF\xBB\xBF");

  EXPECT_THAT(error_of<InputError>([&] { FileLines(path, UnfinishedLine::refuse); }),
              HasSubstr("t.csv:1: the file is empty"));
}

TEST(FileLines, AFileThatBecomesShorterEndsWithWhatWasRead) {
  const TemporaryFolder folder;
  const auto path = folder.file("t.csv", std::string(many, '\n'));
  FileLines lines(path, UnfinishedLine::refuse);

  std::filesystem::resize_file(path, 1);

  EXPECT_LT(count_lines(lines), many);
}

TEST(FileLines, OneLineBreakMakesAWholeLineWhereverItStands) {
  const TemporaryFolder folder;

  for (const int before : {0, 1, many / 2, many}) {
    const std::string line(static_cast<std::size_t>(before), 'x');
    EXPECT_TRUE(has_whole_line(folder.file("t.csv", line + "\n"))) << before;
    EXPECT_FALSE(has_whole_line(folder.file("t.csv", line))) << before;
  }
}

}  // namespace
}  // namespace plumbline
