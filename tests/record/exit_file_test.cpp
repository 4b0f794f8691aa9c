// SPDX-License-Identifier: BSD-3-Clause
#include "record/exit_file.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "record/launch_finding.hpp"
#include "support/error.hpp"
#include "tests/record/sample.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ExitFile, ReadsBack) {
  const TemporaryFolder folder;
  ExitFile written{2, "timeout", 139, "SIGSEGV", "1B3", some_digest};
  written.not_recorded = {{"losses", "torch hides it"}};
  written.waited_for = {1, 2};
  write_exit_file(folder / "exit.json", written);
  write_exit_file(folder / "not_fed.json", {0, "ok", 0, std::nullopt, "", std::nullopt});

  const ExitFile exit = read_exit_file(folder / "exit.json").value();

  EXPECT_EQ(exit.rank, 2);
  EXPECT_EQ(exit.status, "timeout");
  EXPECT_EQ(exit.code, 139);
  EXPECT_EQ(exit.signal, "SIGSEGV");
  EXPECT_EQ(exit.last_action, "1B3");
  EXPECT_EQ(exit.data_digest, some_digest);
  EXPECT_EQ(exit.not_recorded, written.not_recorded);
  EXPECT_EQ(exit.waited_for, written.waited_for);
  EXPECT_FALSE(read_exit_file(folder / "not_fed.json").value().data_digest);
  EXPECT_FALSE(read_exit_file(folder / "absent.json"));
}

TEST(ExitFile, IsReadStrictly) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& bytes) {
    return error_of<InputError>([&] { read_exit_file(folder.file("exit.json", bytes)); });
  };

  EXPECT_THAT(refusal(R"({"rank": 0, "status": "fine", "code": 0})"),
              HasSubstr("exit.json: key status: 'fine' is not known"));
  EXPECT_THAT(refusal(R"({"rank": 0, "status": "ok"})"), HasSubstr("key code: is missing"));
  EXPECT_THAT(refusal(R"({"rank": 0, "status": "ok", "code": 0, "signal": 9})"),
              HasSubstr("key signal: must be a string"));
  EXPECT_THAT(refusal(R"({"rank": 0, "status": "ok", "code": 0, "signal": "SIGSEGV"})"),
              HasSubstr("key signal: must be null where status is 'ok'"));
  EXPECT_THAT(refusal(R"({"rank": 0, "status": "ok", "code": 0, "data_digest": "0123"})"),
              HasSubstr("key data_digest: '0123' is not a digest of 32"));
  EXPECT_THAT(refusal(R"({"rank": 0, "status": "timeout", "code": 1, "waited_for": [-1]})"),
              HasSubstr("key waited_for: must be a list of ranks"));
  EXPECT_THAT(refusal(R"({"rank": 0, "sta)"), HasSubstr("exit.json:1:"));
}

TEST(ExitFile, CutsOffALongError) {
  const TemporaryFolder folder;
  const auto where = [&](const std::string& text) {
    const Json json = {{"rank", 0}, {"status", "error"}, {"code", 1}, {"where", text}};
    return read_exit_file(folder.file("exit.json", json.dump())).value().where;
  };

  EXPECT_EQ(where("train.py:12: RuntimeError: no data"), "train.py:12: RuntimeError: no data");
  EXPECT_EQ(where(std::string(401, 'x')), std::string(400, 'x'));
}

TEST(ExitFile, NotesAreStringsAndCutOff) {
  const TemporaryFolder folder;
  const auto notes = [&](const Json& notes) {
    const Json json = {{"rank", 0}, {"status", "ok"}, {"code", 0}, {"notes", notes}};
    return read_exit_file(folder.file("exit.json", json.dump())).value().notes;
  };

  EXPECT_EQ(notes({"a", std::string(401, 'x')}), (std::vector<std::string>{"a", std::string(400, 'x')}));
  EXPECT_EQ(notes(nullptr), std::vector<std::string>());
  EXPECT_THAT(error_of<InputError>([&] { notes({"a", 3}); }), HasSubstr("key notes: must be a list of strings"));
}

class LaunchFindingFile : public ::testing::Test {
 protected:
  static LaunchFinding example() {
    LaunchFinding finding;
    finding.started = false;
    finding.timed_out = true;
    finding.interrupted = true;
    finding.exit_code = 137;
    finding.culprit_rank = 2;
    finding.words = "rank 2 was killed";
    finding.seconds = 1.5;
    return finding;
  }
  LaunchFinding read(const Json& json) const { return read_launch_finding(folder_.file("finding.json", json.dump())); }
  std::string refusal(const std::function<void(Json&)>& damage) const {
    Json json = to_json(example());
    damage(json);
    return error_of<InputError>([&] { read(json); });
  }

  TemporaryFolder folder_;
};

TEST_F(LaunchFindingFile, ReadsBackAsItWasWritten) {
  const LaunchFinding read_back = read(to_json(example()));

  EXPECT_FALSE(read_back.started);
  EXPECT_TRUE(read_back.timed_out);
  EXPECT_TRUE(read_back.interrupted);
  EXPECT_EQ(read_back.exit_code, 137);
  EXPECT_EQ(read_back.culprit_rank, 2);
  EXPECT_EQ(read_back.words, "rank 2 was killed");
  EXPECT_EQ(read_back.seconds, 1.5);
}

TEST_F(LaunchFindingFile, ASuccessfulRunHasNoCulprit) {
  const LaunchFinding read_back = read(to_json(LaunchFinding{}));

  EXPECT_TRUE(read_back.started);
  EXPECT_FALSE(read_back.timed_out);
  EXPECT_FALSE(read_back.interrupted);
  EXPECT_FALSE(read_back.culprit_rank);
  EXPECT_EQ(to_json(LaunchFinding{}).at("culprit_rank"), Json(nullptr));
}

TEST_F(LaunchFindingFile, NamesADamagedKey) {
  const Json whole = to_json(example());
  for (const auto& [key, value] : whole.items())
    EXPECT_THAT(refusal([&key = key](Json& json) { json.erase(key); }), EndsWith("key " + key + ": is missing"));
  for (const char* key : {"started", "timed_out", "interrupted"})
    EXPECT_THAT(refusal([&](Json& json) { json[key] = 1; }),
                EndsWith(std::string("key ") + key + ": must be true or false"));
  EXPECT_THAT(refusal([](Json& json) { json["culprit_rank"] = -1; }), EndsWith("key culprit_rank: -1 is not between 0 "
                                                                               "and 9223372036854775807"));
  EXPECT_THAT(refusal([](Json& json) { json["exit_code"] = 1LL << 40; }),
              EndsWith("key exit_code: 1099511627776 is not between -2147483648 and 2147483647"));
}

}  // namespace
}  // namespace plumbline::testing
