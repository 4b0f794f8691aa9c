#include "record/exit_file.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

TEST(ExitFileOnDisk, ReadsBackAsItWasWritten) {
  const TemporaryFolder folder;
  const auto round_trip = [&](const ExitFile& exit) {
    write_exit_file(folder / "exit.json", exit);
    return read_exit_file(folder / "exit.json").value();
  };

  const ExitFile killed = round_trip({3, "signal", 139, "SIGSEGV", "1B0", std::nullopt});
  EXPECT_EQ(killed.rank, 3);
  EXPECT_EQ(killed.status, "signal");
  EXPECT_EQ(killed.code, 139);
  EXPECT_EQ(killed.signal, "SIGSEGV");
  EXPECT_EQ(killed.last_action, "1B0");
  EXPECT_FALSE(killed.data_digest);

  const ExitFile well = round_trip({0, "ok", 0, std::nullopt, "", some_digest});
  EXPECT_FALSE(well.signal);
  EXPECT_EQ(well.data_digest, some_digest);
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

TEST(ExitFileOnDisk, WhatCannotBeIsRefusedByItsKey) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& key, const Json& value) {
    Json json = {{"rank", 0}, {"status", "ok"}, {"code", 0}, {"signal", nullptr}};
    json[key] = value;
    return error_of<InputError>([&] { read_exit_file(folder.file("exit.json", json.dump())); });
  };

  EXPECT_THAT(refusal("rank", -1), HasSubstr("key rank: -1 is not between 0"));
  EXPECT_THAT(refusal("status", "fine"), HasSubstr("key status: 'fine' is not known"));
  EXPECT_THAT(refusal("code", 1LL << 40), HasSubstr("key code"));
  EXPECT_THAT(refusal("signal", "SIGTERM"), HasSubstr("key signal: must be null where status is 'ok'"));
  EXPECT_THAT(refusal("data_digest", "abc"), HasSubstr("key data_digest: 'abc' is not a digest"));
}

}  // namespace
}  // namespace plumbline::testing
