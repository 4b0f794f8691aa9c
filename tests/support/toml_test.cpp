// SPDX-License-Identifier: BSD-3-Clause
#include "support/toml.hpp"

#include <gmock/gmock.h>

#include <string>

#include "support/error.hpp"
#include "support/toml_library.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TemporaryFolder;

class Toml : public ::testing::Test {
 protected:
  TomlTable read(const std::string& text) const { return TomlTable::read(folder.file("run.toml", text)); }
  template <typename Ask>
  static std::string refusal(Ask ask) {
    return error_of<InputError>(ask);
  }
  TemporaryFolder folder;
};

TEST_F(Toml, ReadsValuesByKeyAndType) {
  const TomlTable table = read(
      "config = 'c.json'\nsteps = 5\nrate = 1e-3\nclip = 1\nquiet = true\nbalance = [2, 0, 3]\n"
      "run = ['a', 'b']\nlengths = [96, [33, 20], []]\n");

  EXPECT_EQ(table.text("config"), "c.json");
  EXPECT_EQ(table.integer("steps"), 5);
  EXPECT_EQ(table.number("rate"), 1e-3);
  EXPECT_EQ(table.number("clip"), 1.0);
  EXPECT_EQ(table.boolean("quiet"), true);
  EXPECT_THAT(table.integers("balance").value(), ElementsAre(2, 0, 3));
  EXPECT_THAT(table.texts("run").value(), ElementsAre("a", "b"));
  EXPECT_THAT(table.integer_rows("lengths").value(), ElementsAre(ElementsAre(96), ElementsAre(33, 20), ElementsAre()));
}

TEST_F(Toml, AnAbsentKeyReturnsNothing) {
  const TomlTable table = read("");

  EXPECT_FALSE(table.has("x"));
  EXPECT_FALSE(table.text("x"));
  EXPECT_FALSE(table.integer("x"));
  EXPECT_FALSE(table.number("x"));
  EXPECT_FALSE(table.boolean("x"));
  EXPECT_FALSE(table.integers("x"));
  EXPECT_FALSE(table.texts("x"));
  EXPECT_FALSE(table.integer_rows("x"));
  EXPECT_FALSE(table.table("x"));
  EXPECT_TRUE(table.tables("x").empty());
}

TEST_F(Toml, NamesThePlaceOfAWrongType) {
  const TomlTable table =
      read("steps = 'five'\n[train]\nrate = true\nlengths = [1, 'x']\nrows = [[1, 2.0]]\nbad = nan\n");
  const TomlTable train = table.table("train").value();

  EXPECT_THAT(refusal([&] { table.integer("steps"); }), EndsWith("run.toml:1:9, key steps: must be an integer"));
  EXPECT_THAT(refusal([&] { read("steps = 5.0\n").integer("steps"); }), HasSubstr("an integer"));
  EXPECT_THAT(refusal([&] { train.number("rate"); }), HasSubstr("run.toml:3:8, key train.rate: must be"));
  EXPECT_THAT(refusal([&] { train.integers("lengths"); }), HasSubstr("run.toml:4:15, key train.lengths"));
  EXPECT_THAT(refusal([&] { train.integers("rate"); }), HasSubstr("must be an array of integers"));
  EXPECT_THAT(refusal([&] { train.texts("rate"); }), HasSubstr("must be an array of strings"));
  EXPECT_THAT(refusal([&] { train.integer_rows("rows"); }), HasSubstr("run.toml:5:13, key train.rows"));
  EXPECT_THAT(refusal([&] { train.integer_rows("rate"); }), HasSubstr("must be an array of integers or of arrays"));
  EXPECT_THAT(refusal([&] { train.tables("lengths"); }),
              HasSubstr("run.toml:4:12, key train.lengths: must be an array of tables"));
  EXPECT_THAT(refusal([&] { train.number("bad"); }), HasSubstr("must be a finite number"));
  EXPECT_THAT(refusal([&] { table.text("train"); }), HasSubstr("must be a string"));
  EXPECT_THAT(refusal([&] { table.table("steps"); }), HasSubstr("must be a table"));
  EXPECT_THAT(refusal([&] { table.tables("steps"); }), HasSubstr("must be an array of tables ([[steps]])"));
}

TEST_F(Toml, AnEmptyTextIsRefused) {
  const TomlTable table = read("text = ''\nfiles = ['a', '']\n");

  EXPECT_THAT(refusal([&] { table.text("text"); }),
              EndsWith("run.toml:1:8, key text: must be a string that is not empty"));
  EXPECT_THAT(refusal([&] { table.one_or_more_texts("text"); }), EndsWith(", none empty"));
  EXPECT_THAT(refusal([&] { table.one_or_more_texts("files"); }), EndsWith(", none empty"));
}

TEST_F(Toml, RefusesANulCharacterInAString) {
  const TomlTable table = read("config = \"a\\u0000b\"\nrun = ['a', \"\\u0000\"]\n");

  EXPECT_THAT(refusal([&] { table.text("config"); }),
              HasSubstr("run.toml:1:10, key config: must be a string without the character U+0000"));
  EXPECT_THAT(refusal([&] { table.texts("run"); }), HasSubstr("run.toml:2:13, key run: must be"));
}

TEST_F(Toml, SuggestsTheNearestNameForAnUnknownKeyOrTable) {
  const TomlTable table = read("[train]\nseed = 1\nstesp = 5\n").table("train").value();
  table.integer("seed");
  table.integer("steps");
  EXPECT_THAT(refusal([&] { table.refuse_unknown_keys(); }),
              EndsWith("run.toml:3:1: unknown key train.stesp; did you mean steps?"));
  const TomlTable whole = read("[trian]\nsteps = 1\n");
  whole.table("train");
  EXPECT_THAT(refusal([&] { whole.refuse_unknown_keys(); }), HasSubstr("unknown key trian; did you mean train?"));
}

TEST_F(Toml, NamesTheFirstUnknownKeyOfTheFile) {
  const TomlTable table = read("zz_first = 1\naa_second = 2\n");
  table.has("steps");
  table.has("seed");

  EXPECT_THAT(refusal([&] { table.refuse_unknown_keys(); }),
              EndsWith("run.toml:1:1: unknown key zz_first; known here: seed, steps"));
  EXPECT_THAT(refusal([&] { read("aa_first = 1\nzz_second = 2\n").refuse_unknown_keys(); }),
              HasSubstr("run.toml:1:1: unknown key aa_first"));
}

TEST_F(Toml, KnownKeysPass) {
  const TomlTable table = read("steps = 1\n[train]\nseed = 1\n");
  table.integer("steps");
  table.table("train")->integer("seed");

  EXPECT_NO_THROW(table.refuse_unknown_keys());
}

TEST_F(Toml, ArraysOfTablesAreReadInOrder) {
  const auto cells = read("[[cell]]\nworld_size = 2\n[[cell]]\nworld_size = 3\nx = 1\n").tables("cell");

  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].integer("world_size"), 2);
  EXPECT_EQ(cells[1].integer("world_size"), 3);
  EXPECT_NO_THROW(cells[0].refuse_unknown_keys());
  EXPECT_THAT(refusal([&] { cells[1].refuse_unknown_keys(); }), HasSubstr("run.toml:5:1: unknown key cell[1].x"));
}

TEST_F(Toml, ATableOutlivesTheFileAndNamesFileLineAndKey) {
  const TomlTable train = read("[train]\nsteps = 5\n").table("train").value();
  EXPECT_EQ(train.integer("steps"), 5);
  EXPECT_THAT(train.where("steps"), EndsWith("run.toml:2:9, key train.steps"));
  EXPECT_THAT(train.where("absent"), EndsWith("run.toml, key train.absent"));
}

TEST_F(Toml, NamesLineAndColumnOfBrokenToml) {
  EXPECT_THAT(refusal([&] { read("steps = 5\nrate = = 1\n"); }), HasSubstr("run.toml:2:8: not valid TOML: "));
  EXPECT_THAT(error_of<InputError>([&] { TomlTable::read(folder / "absent.toml"); }),
              HasSubstr("absent.toml: cannot be read"));
}

std::string refusal_of(const std::string& bytes) {
  return error_of<InputError>([&] { parse_toml("run.toml", bytes); });
}

TEST(TomlLibrary, ReadsTablesAndWritesThemAgain) {
  toml::table table = parse_toml("run.toml", "[train]\nsteps = 5\n");

  table["train"].as_table()->insert_or_assign("steps", 6);

  std::ostringstream text;
  text << table;
  EXPECT_EQ(text.str(), "[train]\nsteps = 6");
}

// Each of them crashes unpatched toml++.
TEST(TomlLibrary, RefusesWhatItsParserAssertsAndNamesThePlace) {
  for (const auto& [bytes, place] : {std::pair<std::string, std::string>{"[\xC3\xA9]\n", "1:2"},
                                     {"[.train]\n", "1:2"},
                                     {"[$x]\n", "1:2"},
                                     {"[[[cell]]]\n", "1:3"},
                                     {"[a]\nb = 1\n[ .c]\n", "3:3"},
                                     {"[a]\nb = 1\n  [[\xC3\xA9]]\n", "3:5"}}) {
    EXPECT_THAT(refusal_of(bytes), StartsWith("run.toml:" + place + ": not valid TOML: not allowed here")) << bytes;
  }
}

// Undefined behavior in unpatched toml++, visible only to a sanitizer (inputs in tests/fuzz/found).
TEST(TomlLibrary, OtherUnicodeSpacesAreNotBlanks) {
  for (const std::string character : {"\xC2\xA1", "\xC3\x87", "\xD2\x99", "\xE3\x81\x82", "\xEF\xB7\x90"}) {
    EXPECT_THAT(refusal_of(character + " = 1\n"), StartsWith("run.toml:1:1: not valid TOML"));
    EXPECT_THAT(refusal_of("a = 1 " + character + "\n"), StartsWith("run.toml:1:7: not valid TOML"));
  }
}

TEST(TomlLibrary, StringsAndCommentsMayContainNonAscii) {
  const std::string text = R"(# é "
a = "é\"é" # 'é
b = '\é'
"é" = '''
é'é''''
c = """é"""""
d = "" # é
)";
  const toml::table table = parse_toml("run.toml", "\xEF\xBB\xBF" + text);

  EXPECT_EQ(table["a"].value<std::string>(), "é\"é");
  EXPECT_EQ(table["b"].value<std::string>(), "\\é");
  EXPECT_EQ(table["é"].value<std::string>(), "é'é'");
  EXPECT_EQ(table["c"].value<std::string>(), "é\"\"");
  EXPECT_EQ(table["d"].value<std::string>(), "");
}

// The parser looks for blanks here, too.
TEST(TomlLibrary, NonAsciiMayFollowALineEndingBackslash) {
  for (const std::string character : {"\xC2\xA1", "\xC3\xA9", "\xE3\x81\x82", "\xF0\x9F\x98\x80"}) {
    const std::string quotes = "\"\"\"";
    const toml::table table = parse_toml("run.toml", "a = " + quotes + "x \\\n \n\t" + character + character + quotes);

    EXPECT_EQ(table["a"].value<std::string>(), "x " + character + character);
    EXPECT_THAT(refusal_of("a = " + quotes + "\n\\" + character + quotes),
                StartsWith("run.toml:2:2: not valid TOML: no such escape"));
    EXPECT_THAT(refusal_of("a = " + quotes + "\\ " + character + quotes), HasSubstr("not valid TOML"));
  }
}

TEST(TomlLibrary, RefusesInvalidTextAndNamesThePlace) {
  EXPECT_THAT(refusal_of("a = 1\nb = '\xFF'\n"), StartsWith("run.toml:2:6: the byte 0xFF is not UTF-8"));
  EXPECT_THAT(refusal_of(std::string("a = 1\n[\0]\n", 10)), StartsWith("run.toml:2:2: the byte 0x00"));
}

TEST(TomlLibrary, AnErrorNamesTheFileAndTheMistake) {
  const std::string refusal = error_of<InputError>([] { parse_toml("runs/run.toml", "a = 1\n\na = 2\n"); });

  EXPECT_THAT(refusal, StartsWith("runs/run.toml:3:"));
  EXPECT_THAT(refusal, HasSubstr("redefine existing integer 'a'"));
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(TomlLibrary, AKeyMayHaveAHundredDots) {
  EXPECT_NO_THROW(parse_toml("run.toml", repeated("a.", 100) + "a = 1\n"));
  EXPECT_THAT(refusal_of("b = 1\n" + repeated("a.", 101) + "a = 1\n"), StartsWith("run.toml:2:202: not valid TOML"))
      << "the 101st dot";
  EXPECT_NO_THROW(parse_toml("run.toml", repeated("# It ends. Here.\n", 100)))
      << "dots on different lines are not one key";
}

TEST(TomlLibrary, NestingIsBounded) {
  EXPECT_THAT(refusal_of("a = " + repeated("[", 100000)), HasSubstr("run.toml:1:"));
  EXPECT_THAT(refusal_of("a = " + repeated("{a = ", 100000)), HasSubstr("run.toml:1:"));
  // The library has no limit on nested keys, and destroying a table that deep crashes the program.
  for (const std::string& deep : {"[" + repeated("a.", 1000000) + "a]\n", repeated("a.", 1000000) + "a = 1\n",
                                  repeated("a . ", 1000000) + "a = 1\n", repeated("'#'.", 1000000) + "a = 1\n",
                                  "a = [\"\"\"\n#\"\"\", {" + repeated("a.", 1000000) + "a = 1}]\n"}) {
    EXPECT_THAT(refusal_of(deep), HasSubstr("more than 100 dots in one key"));
  }
  EXPECT_NO_THROW(parse_toml("run.toml", "# " + repeated(".", 200) + "\n" + repeated("a.", 99) + "a = 1\n"));
  EXPECT_NO_THROW(parse_toml("run.toml", "a = [" + repeated("1.5, ", 500) + "2.5]\n"));
}

}  // namespace
}  // namespace plumbline
