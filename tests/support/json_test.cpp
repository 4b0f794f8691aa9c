// SPDX-License-Identifier: BSD-3-Clause
#include "support/json.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "support/error.hpp"
#include "support/json_text.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::bytes_of;
using ::testing::EndsWith;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

TEST(JsonFile, KeepsOrderAndBits) {
  const TemporaryFolder folder;
  const Json value = {{"z", 0.1}, {"a", {1, 2}}, {"n", nullptr}, {"big", std::numeric_limits<std::int64_t>::max()}};

  write_json(folder / "f.json", value);

  EXPECT_EQ(read_json(folder / "f.json"), value);
  EXPECT_EQ(bytes_of(folder / "f.json"),
            "{\n  \"z\": 0.1,\n  \"a\": [\n    1,\n    2\n  ],\n  \"n\": null,\n  \"big\": 9223372036854775807\n}\n");
}

std::string refusal_of_json(const std::string& text) {
  const TemporaryFolder folder;
  return error_of<InputError>([&] { read_json(folder.file("f.json", text)); });
}

TEST(JsonFile, NamesLineAndColumnOfBrokenJson) {
  EXPECT_THAT(refusal_of_json("{\n  \"a\": 1,\n  oops\n}\n"), HasSubstr("f.json:3:3: not valid JSON: syntax error"));
  EXPECT_THAT(refusal_of_json("{\"a\": [1,"), HasSubstr("f.json:1:10: not valid JSON"));
  EXPECT_THAT(refusal_of_json(""), HasSubstr("f.json:1:1: not valid JSON"));
  EXPECT_THAT(refusal_of_json("{\"a\": 1e999}"), HasSubstr("f.json: not valid JSON: number overflow"));
  EXPECT_THAT(error_of<InputError>([] { read_json("absent.json"); }), HasSubstr("absent.json"));
}

TEST(JsonFile, NestingIsBounded) {
  const TemporaryFolder folder;
  const auto nested = [](std::size_t depth, const std::string& begin, const std::string& end) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += begin;
    text += "1";
    for (std::size_t i = 0; i < depth; ++i) text += end;
    return text;
  };

  for (const auto& [begin, end] : {std::pair{"[", "]"}, {"{\"a\":", "}"}, {"[\n", ""}}) {
    EXPECT_THAT(refusal_of_json(nested(100000, begin, end)),
                ::testing::AllOf(HasSubstr("f.json:"), HasSubstr("nested more than 64 deep")));
  }
  EXPECT_THAT(refusal_of_json("[\n" + nested(64, "[", "]") + "]"),
              HasSubstr("f.json: not valid JSON: nested more than 64 deep"));
  EXPECT_EQ(json_text(read_json(folder.file("f.json", nested(64, "[", "]")))), nested(64, "[", "]"));
}

TEST(JsonFile, BracketsInAStringDoNotNest) {
  const TemporaryFolder folder;
  const std::string brackets(100, '[');

  EXPECT_EQ(read_json(folder.file("f.json", R"({"a": "\"\\)" + brackets + "\"}"))["a"], "\"\\" + brackets);
}

TEST(JsonFile, ANanIsNeverWrittenAsNull) {
  const TemporaryFolder folder;
  const Json nan = {{"cells", {{{"margin", std::numeric_limits<double>::quiet_NaN()}}}}};
  const Json infinity = std::numeric_limits<double>::infinity();

  EXPECT_THAT(error_of<std::logic_error>([&] { write_json(folder / "f.json", nan); }), EndsWith("/cells/0/margin"));
  EXPECT_THROW(write_json(folder / "f.json", infinity), std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(folder / "f.json"));
}

TEST(JsonFile, InvalidUtf8DoesNotStopAReport) {
  const TemporaryFolder folder;
  EXPECT_EQ(json_text("a\xFFz"), "\"a\xEF\xBF\xBDz\"");

  write_json(folder / "f.json", Json{{"log", "a\xFFz"}});

  EXPECT_EQ(read_json(folder / "f.json")["log"], "a\xEF\xBF\xBDz");
}

TEST(JsonFile, AFullDiskIsASystemError) {
  EXPECT_THAT(error_of<SystemError>([] { write_json("/dev/full", Json::object()); }), HasSubstr("No space left"));
}

TEST(JsonFile, RefusesADuplicateKey) {
  const TemporaryFolder folder;
  EXPECT_THAT(refusal_of_json(R"({"status": "error", "status": "ok"})"),
              EndsWith("key 'status' is twice in one object"));
  EXPECT_THAT(refusal_of_json(R"({"a": [{"b": 1, "c": {}, "b": 1}]})"), EndsWith("key 'b' is twice in one object"));
  EXPECT_NO_THROW(read_json(folder.file("f.json", R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})")));
}

TEST(JsonFile, StringsAndKeysArePrintable) {
  const TemporaryFolder folder;
  const Json read =
      read_json(folder.file("f.json", R"({"a\u001b[2J": ["x\n::error title=build::all is well", "\u009b"]})"));

  EXPECT_EQ(json_text(read), R"({"a\\x1b[2J":["x\\n::error title=build::all is well","\\u009b"]})");
  EXPECT_EQ(read_json(folder / "f.json", most_of_json, JsonTexts::as_written).begin().key(), "a\x1b[2J");
  EXPECT_THAT(refusal_of_json(R"({"a\u001b": 1, "a\u001b": 2})"), EndsWith("key 'a\\x1b' is twice in one object"));
  EXPECT_THAT(refusal_of_json("{\"a\": \x1b[2J}"), ::testing::Not(HasSubstr("\x1b")));
}

TEST(JsonFile, RefusesATooLargeFileWithoutReadingIt) {
  const TemporaryFolder folder;
  const std::string path = folder.file("f.json", "{}");
  std::filesystem::resize_file(path, std::uintmax_t{6} << 30);  // a hole
  EXPECT_THAT(error_of<InputError>([&] { read_json(path); }),
              HasSubstr("f.json: has 6442450944 bytes, and at most 128 MiB are read of such a file"));
  std::filesystem::resize_file(path, most_by_hand + 1);
  EXPECT_THAT(error_of<InputError>([&] { read_json(path, most_by_hand); }), HasSubstr("at most 16 MiB"));
}

TEST(SameContent, ComparesIntegersDigitByDigit) {
  struct Case {
    const char *one, *other;
    bool same;
  };
  for (const auto& [one, other, same] :
       {Case{"1", "1.0", true}, Case{"9007199254740993", "9007199254740992", false},
        Case{"9007199254740993", "9007199254740992.0", false}, Case{"18446744073709551615", "-1", false},
        Case{"18446744073709551615", "1.8446744073709551615e19", false}, Case{"true", "1", false},
        Case{R"({"a": [1, {"b": 2}], "c": 3})", R"({"c": 3.0, "a": [1, {"b": 2}]})", true},
        Case{R"({"a": 1})", R"({"b": 1})", false}, Case{"[1, 2]", "[2, 1]", false}, Case{"null", "0", false},
        Case{R"([{"b": 2, "c": null}])", R"([{"c": null, "b": 2}])", true},
        Case{R"([{"b": 2, "c": null}])", R"([{"c": 0, "b": 2}])", false}}) {
    EXPECT_EQ(same_content(Json::parse(one), Json::parse(other)), same) << one << " and " << other;
    EXPECT_EQ(same_content(Json::parse(other), Json::parse(one)), same) << other << " and " << one;
  }
}

}  // namespace
}  // namespace plumbline
