#include "harness/history/history_file.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/harness/history/rows.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HistoryFile : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "h.csv"; }
  std::string written(const std::vector<HistoryRow>& rows) const {
    append_history(file(), rows);
    return bytes_of(file());
  }
  /// What is said of the file with one text in place of another.
  std::string refusal(const std::string& whole, const std::string& from, const std::string& to) const {
    std::string damaged = whole;
    const auto at = damaged.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    damaged.replace(at, from.size(), to);
    folder_.file("h.csv", damaged);
    return error_of<InputError>([&] { read_history(file()); });
  }

  TemporaryFolder folder_;
};

TEST_F(HistoryFile, ReadsBackWhatWasAdded) {
  HistoryRow bare = history_row_of(1);
  bare.speed.reset();
  bare.bits.clear();
  bare.sent_bytes.reset();
  bare.machine_name = "a \"quoted\", <b>bold</b> name";
  EXPECT_EQ(append_history(file(), {history_row_of(0), bare}), 2);

  const History history = read_history(file());

  ASSERT_THAT(history.rows, SizeIs(2));
  EXPECT_EQ(to_cells(history.rows[0]), to_cells(history_row_of(0)));
  EXPECT_EQ(to_cells(history.rows[1]), to_cells(bare));
  EXPECT_THAT(history.notes, IsEmpty());
}

TEST_F(HistoryFile, AddingOnlyEverAdds) {
  const std::string before = written({history_row_of(0)});
  const std::string after = written({history_row_of(1)});

  EXPECT_EQ(after.substr(0, before.size()), before);
  EXPECT_EQ(append_history(file(), {history_row_of(0), history_row_of(1)}), 0) << "they are there";
  EXPECT_EQ(bytes_of(file()), after);
}

TEST_F(HistoryFile, OneThatIsNotThereIsEmpty) {
  EXPECT_THAT(read_history(folder_ / "nowhere.csv").rows, IsEmpty());
}

TEST_F(HistoryFile, RunsOfOneSweepAreRowsOfTheirOwn) {
  HistoryRow other = history_row_of(0);
  other.run = "quick-1f1b-w3";
  EXPECT_EQ(append_history(file(), {history_row_of(0), other}), 2);
  EXPECT_THAT(read_history(file()).rows, SizeIs(2));
}

TEST_F(HistoryFile, MergedWithItselfEachRowCountsOnceAndThatIsSaid) {
  const std::string once = written({history_row_of(0), history_row_of(1)});
  folder_.file("h.csv", once + once.substr(once.find('\n') + 1));

  const History history = read_history(file());

  EXPECT_THAT(history.rows, SizeIs(2));
  EXPECT_EQ(history.duplicates, 2);
  EXPECT_THAT(history.notes, ElementsAre(HasSubstr("2 rows stand in the file a second time")));
}

TEST_F(HistoryFile, WhereTheClockRanBackwardsPointsStandInTheOrderOfTimeAndThatIsSaid) {
  written({history_row_of(0), history_row_of(5), history_row_of(3), history_row_of(6)});

  const History history = read_history(file());

  EXPECT_EQ(history.rows[1].taken, history_row_of(3).taken);
  EXPECT_THAT(history.notes, ElementsAre(HasSubstr("from line 4 on, in 1 places")));
}

TEST_F(HistoryFile, RowsOfAnotherMachineMayBeOlder) {
  HistoryRow other = history_row_of(0);
  other.machine = "eeeeeeeeeeee";
  written({history_row_of(5), other});

  EXPECT_THAT(read_history(file()).notes, IsEmpty());
}

TEST_F(HistoryFile, ABrokenLineIsRefusedByFileLineAndColumn) {
  const std::string whole = written({history_row_of(0), history_row_of(1)});
  const std::string second = history_row_of(1).taken;

  EXPECT_THAT(refusal(whole, second, "yesterday"), HasSubstr("h.csv:3, column taken: \"yesterday\" is no time"));
  for (const char* near : {"2026-01-0xT10:00:00Z", "2026-01-02 10:00:00Z", "2026-01-02T10:00:00Z+1", "2026-01-02"})
    EXPECT_THAT(refusal(whole, second, near), HasSubstr("h.csv:3, column taken")) << near;
  EXPECT_THAT(refusal(whole, ",3000,", ",three,"), HasSubstr("h.csv:2, column state_bytes"));
  EXPECT_THAT(refusal(whole, ",3000,", ",-3000,"), HasSubstr("h.csv:2, column state_bytes"));
  EXPECT_THAT(refusal(whole, ",1.6,", ",nan,"), HasSubstr("h.csv:2, column speed"));
  EXPECT_THAT(refusal(whole, ",1.6,", ",0,"), HasSubstr("h.csv:2, column speed"));
  EXPECT_THAT(refusal(whole, ",1.616,", ",1.5,"), HasSubstr("h.csv:2, column speed_low"));
  EXPECT_THAT(refusal(whole, ",1.616,", ",,"), HasSubstr("h.csv:2, column speed_low"));
  EXPECT_THAT(refusal(whole, ",holds,", ",perhaps,"), HasSubstr("h.csv:2, column verdict"));
  EXPECT_THAT(refusal(whole, ",aaaaaaaaaaaa,", ",,"), HasSubstr("h.csv:2, column machine"));
  EXPECT_THAT(refusal(whole, ",bbbbbbbbbbbb,", ",,"), HasSubstr("h.csv:2, column code_path"));
  EXPECT_THAT(refusal(whole, "," + second + ",", ","), HasSubstr("h.csv:3")) << "a cell is missing";
}

TEST_F(HistoryFile, ALineThatIsCutOffIsRefusedAndNothingIsAddedToIt) {
  std::string whole = written({history_row_of(0), history_row_of(1)});
  whole.resize(whole.size() - 20);
  folder_.file("h.csv", whole);

  EXPECT_THAT(error_of<InputError>([&] { read_history(file()); }), HasSubstr("h.csv"));
  EXPECT_THAT(error_of<InputError>([&] { append_history(file(), {history_row_of(2)}); }), HasSubstr("h.csv"));
  EXPECT_EQ(bytes_of(file()), whole);
}

TEST_F(HistoryFile, AnotherSchemaOrAnotherFileIsRefused) {
  const std::string whole = written({history_row_of(0)});

  EXPECT_THAT(refusal(whole, "plumbline-history/1", "plumbline-history/9"), HasSubstr("plumbline-history/9"));
  EXPECT_THAT(refusal(whole, "schema,taken", "schema,when"), HasSubstr("its columns are not those of a history"));
  folder_.file("h.csv", "");
  EXPECT_THAT(error_of<InputError>([&] { read_history(file()); }), HasSubstr("h.csv"));
}

TEST_F(HistoryFile, TwoRowsThatTellOtherThingsOfTheSameRunAreRefusedByBothLines) {
  HistoryRow other = history_row_of(0);
  other.bits = "eeee";
  const std::string whole = written({history_row_of(0)});
  folder_.file("h.csv", whole + csv_line(to_cells(other)));

  EXPECT_THAT(
      error_of<InputError>([&] { read_history(file()); }),
      HasSubstr("line 3 and line 2 tell of the same run, quick-1f1b-w2 of 2026-01-01T10:00:00Z, and differ in bits"));
  folder_.file("h.csv", whole);
  EXPECT_THAT(error_of<InputError>([&] { append_history(file(), {other}); }),
              HasSubstr("what is to be added and line 2"));
}

}  // namespace
}  // namespace plumbline::testing
