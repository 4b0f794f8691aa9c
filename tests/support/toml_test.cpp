// SPDX-License-Identifier: BSD-3-Clause
#include "support/toml.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

class Toml : public ::testing::Test {
 protected:
  TomlTable read(const std::string& text) const { return TomlTable::read(folder.file("run.toml", text)); }
  TemporaryFolder folder;
};

TEST_F(Toml, ValuesAreReadByKeyAndType) {
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

TEST_F(Toml, AnAbsentKeyIsNothing) {
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

TEST_F(Toml, AWrongTypeIsNamedWithItsPlace) {
  const TomlTable table =
      read("steps = 'five'\n[train]\nrate = true\nlengths = [1, 'x']\nrows = [[1, 2.0]]\nbad = nan\n");
  const TomlTable train = table.table("train").value();

  EXPECT_THAT(error_of<InputError>([&] { table.integer("steps"); }),
              EndsWith("run.toml:1:9, key steps: must be an integer"));
  EXPECT_THAT(error_of<InputError>([&] { read("steps = 5.0\n").integer("steps"); }), HasSubstr("an integer"));
  EXPECT_THAT(error_of<InputError>([&] { train.number("rate"); }), HasSubstr("run.toml:3:8, key train.rate: must be"));
  EXPECT_THAT(error_of<InputError>([&] { train.integers("lengths"); }), HasSubstr("run.toml:4:15, key train.lengths"));
  EXPECT_THAT(error_of<InputError>([&] { train.integers("rate"); }), HasSubstr("must be an array of integers"));
  EXPECT_THAT(error_of<InputError>([&] { train.texts("rate"); }), HasSubstr("must be an array of strings"));
  EXPECT_THAT(error_of<InputError>([&] { train.integer_rows("rows"); }), HasSubstr("run.toml:5:13, key train.rows"));
  EXPECT_THAT(error_of<InputError>([&] { train.number("bad"); }), HasSubstr("must be a finite number"));
  EXPECT_THAT(error_of<InputError>([&] { table.text("train"); }), HasSubstr("must be a string"));
  EXPECT_THAT(error_of<InputError>([&] { table.table("steps"); }), HasSubstr("must be a table"));
  EXPECT_THAT(error_of<InputError>([&] { table.tables("steps"); }),
              HasSubstr("must be an array of tables ([[steps]])"));
}

TEST_F(Toml, AnEmptyTextIsRefused) {
  const TomlTable table = read("text = ''\nfiles = ['a', '']\n");

  EXPECT_THAT(error_of<InputError>([&] { table.text("text"); }),
              EndsWith("run.toml:1:8, key text: must be a string that is not empty"));
  EXPECT_THAT(error_of<InputError>([&] { table.one_or_more_texts("text"); }), EndsWith(", none empty"));
  EXPECT_THAT(error_of<InputError>([&] { table.one_or_more_texts("files"); }), EndsWith(", none empty"));
}

TEST_F(Toml, ATextWithACharacterThatEndsItElsewhereIsRefused) {
  const TomlTable table = read("config = \"a\\u0000b\"\nrun = ['a', \"\\u0000\"]\n");

  EXPECT_THAT(error_of<InputError>([&] { table.text("config"); }),
              HasSubstr("run.toml:1:10, key config: must be a string without the character U+0000"));
  EXPECT_THAT(error_of<InputError>([&] { table.texts("run"); }), HasSubstr("run.toml:2:13, key run: must be"));
}

TEST_F(Toml, AnUnknownKeyOrTableIsNamedWithTheNearestKnownOne) {
  const TomlTable table = read("[train]\nseed = 1\nstesp = 5\n").table("train").value();
  table.integer("seed");
  table.integer("steps");
  EXPECT_THAT(error_of<InputError>([&] { table.refuse_unknown_keys(); }),
              EndsWith("run.toml:3:1: unknown key train.stesp; did you mean steps?"));
  const TomlTable whole = read("[trian]\nsteps = 1\n");
  whole.table("train");
  EXPECT_THAT(error_of<InputError>([&] { whole.refuse_unknown_keys(); }),
              HasSubstr("unknown key trian; did you mean train?"));
}

TEST_F(Toml, TheFirstUnknownKeyOfTheFileIsNamed) {
  const TomlTable table = read("zz_first = 1\naa_second = 2\n");
  table.has("steps");
  table.has("seed");

  EXPECT_THAT(error_of<InputError>([&] { table.refuse_unknown_keys(); }),
              EndsWith("run.toml:1:1: unknown key zz_first; known here: seed, steps"));
  EXPECT_THAT(error_of<InputError>([&] { read("aa_first = 1\nzz_second = 2\n").refuse_unknown_keys(); }),
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
  EXPECT_THAT(error_of<InputError>([&] { cells[1].refuse_unknown_keys(); }),
              HasSubstr("run.toml:5:1: unknown key cell[1].x"));
}

TEST_F(Toml, ATableOutlivesTheFileAndNamesFileLineAndKey) {
  const TomlTable train = read("[train]\nsteps = 5\n").table("train").value();
  EXPECT_EQ(train.integer("steps"), 5);
  EXPECT_THAT(train.where("steps"), EndsWith("run.toml:2:9, key train.steps"));
  EXPECT_THAT(train.where("absent"), EndsWith("run.toml, key train.absent"));
}

TEST_F(Toml, ABrokenFileIsNamedWithLineAndColumn) {
  EXPECT_THAT(error_of<InputError>([&] { read("steps = 5\nrate = = 1\n"); }),
              HasSubstr("run.toml:2:8: not valid TOML: "));
  EXPECT_THAT(error_of<InputError>([&] { TomlTable::read(folder / "absent.toml"); }),
              HasSubstr("absent.toml: cannot be read"));
}

}  // namespace
}  // namespace plumbline
