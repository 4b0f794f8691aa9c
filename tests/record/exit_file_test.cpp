// SPDX-License-Identifier: BSD-3-Clause
#include "record/exit_file.hpp"

#include <gtest/gtest.h>

#include "support/error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

TEST(ExitFileOnDisk, TellsTheDigestOfTheDataWhereTheRankSawAny) {
  const TemporaryFolder folder;
  write_exit_file(folder / "fed.json", {0, "ok", 0, std::nullopt, "", some_digest});
  write_exit_file(folder / "not_fed.json", {0, "ok", 0, std::nullopt, "", std::nullopt});

  EXPECT_EQ(read_exit_file(folder / "fed.json").value().data_digest, some_digest);
  EXPECT_FALSE(read_exit_file(folder / "not_fed.json").value().data_digest);
}

TEST(ExitFileOnDisk, TellsWhomARankWaitedForInVain) {
  const TemporaryFolder folder;
  ExitFile exit{0, "timeout", 1, std::nullopt, ""};
  exit.waited_for = {1, 2};
  write_exit_file(folder / "exit.json", exit);

  EXPECT_EQ(read_exit_file(folder / "exit.json").value().waited_for, exit.waited_for);
  folder.file("exit.json", R"({"rank": 0, "status": "timeout", "code": 1, "waited_for": [-1]})");
  EXPECT_THROW(read_exit_file(folder / "exit.json"), InputError);
}

TEST(ExitFileOnDisk, TheWordsOfAnErrorAreCutOff) {
  const TemporaryFolder folder;
  const auto where = [&](const std::string& text) {
    const Json json = {{"rank", 0}, {"status", "error"}, {"code", 1}, {"where", text}};
    return read_exit_file(folder.file("exit.json", json.dump())).value().where;
  };

  EXPECT_EQ(where("train.py:12: RuntimeError: no data"), "train.py:12: RuntimeError: no data");
  EXPECT_EQ(where(std::string(401, 'x')), std::string(400, 'x'));
}

TEST(ExitFileOnDisk, NotesAreTextsThatAreCutOff) {
  const TemporaryFolder folder;
  const auto notes = [&](const Json& notes) {
    const Json json = {{"rank", 0}, {"status", "ok"}, {"code", 0}, {"notes", notes}};
    return read_exit_file(folder.file("exit.json", json.dump())).value().notes;
  };

  EXPECT_EQ(notes({"a", 3, std::string(401, 'x')}), (std::vector<std::string>{"a", std::string(400, 'x')}));
  EXPECT_EQ(notes(nullptr), std::vector<std::string>());
}

}  // namespace
}  // namespace plumbline::testing
