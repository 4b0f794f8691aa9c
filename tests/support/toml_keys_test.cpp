// SPDX-License-Identifier: BSD-3-Clause
#include "support/toml_keys.hpp"

#include <gmock/gmock.h>

#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::EndsWith;

struct Settings {
  std::int64_t steps = 0;
  double rate = 0.5;
  std::string mode = "one";
  std::optional<std::filesystem::path> folder;
  std::vector<std::int64_t> sizes;
};

const std::vector<KeyOf<Settings>> keys{
    key_of<Settings>([](Settings & s) -> auto& { return s.steps; },
                     {.name = "steps", .meaning = "how many", .required = true, .example = "5", .least = 1, .most = 9}),
    key_of<Settings>([](Settings& s) -> auto& { return s.rate; },
                     {.name = "rate", .least = 0, .most = 1, .above = true, .below = true}),
    key_of<Settings>([](Settings& s) -> auto& { return s.mode; }, {.name = "mode", .words = {"one", "two"}}),
    key_of<Settings>([](Settings& s) -> auto& { return s.folder; }, {.name = "folder", .otherwise = "none"}),
    key_of<Settings>([](Settings& s) -> auto& { return s.sizes; }, {.name = "sizes", .least = 1, .distinct = true}),
    {{.name = "names", .type = TomlType::text_or_texts}, {}}};

class TomlKeys : public ::testing::Test {
 protected:
  Settings read(const std::string& text) {
    Settings settings;
    read_keys(TomlTable::read(folder_.file("a.toml", text)), keys, settings);
    return settings;
  }
  std::string refusal(const std::string& text) {
    return error_of<InputError>([&] { read(text); });
  }
  TemporaryFolder folder_;
};

TEST_F(TomlKeys, SetTheirFieldsAndKeepOtherDefaults) {
  const Settings settings = read("steps = 9\nfolder = \"b/../c\"\nsizes = [2, 1]\nnames = \"x\"\n");

  EXPECT_EQ(settings.steps, 9);
  EXPECT_EQ(settings.rate, 0.5);
  EXPECT_EQ(settings.mode, "one");
  EXPECT_EQ(settings.folder, folder_ / "c");
  EXPECT_EQ(settings.sizes, (std::vector<std::int64_t>{2, 1}));
}

TEST_F(TomlKeys, RefuseInvalidValues) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"step = 3", "unknown key step; did you mean steps?"},
      {"rate = 0.1", "key steps: is missing; write for example steps = 5"},
      {"steps = 10", "key steps: is 10; it must be from 1 to 9"},
      {"steps = 1\nrate = 0", "key rate: is 0; it must be above 0 and below 1"},
      {"steps = 1\nmode = \"tow\"", "key mode: \"tow\" is unknown; give one of one, two; did you mean two?"},
      {"steps = 1\nsizes = []", "key sizes: is empty; omit it or give at least one value"},
      {"steps = 1\nsizes = [2, 0]", "key sizes: is 0; it must be at least 1"},
      {"steps = 1\nsizes = [2, 2]", "key sizes: has the same value twice; remove one"},
      {"steps = 1\nnames = 3", "key names: must be a string or an array of strings"}};
  for (const auto& [text, words] : cases) EXPECT_THAT(refusal(text), EndsWith(words)) << text;
}

TEST_F(TomlKeys, MakeASchema) {
  const Json schema = toml_schema("of a test", without_fields(keys)), properties = schema.at("properties");

  EXPECT_EQ(schema.at("required"), Json({"steps"}));
  EXPECT_EQ(schema.at("additionalProperties"), false);
  EXPECT_EQ(properties.at("steps"),
            Json({{"type", "integer"}, {"minimum", 1}, {"maximum", 9}, {"description", "how many"}}));
  EXPECT_EQ(properties.at("rate"),
            Json({{"type", "number"}, {"exclusiveMinimum", 0}, {"exclusiveMaximum", 1}, {"default", 0.5}}));
  EXPECT_EQ(properties.at("mode"), Json({{"enum", {"one", "two"}}, {"default", "one"}}));
  EXPECT_EQ(properties.at("folder"), Json({{"type", "string"}, {"minLength", 1}, {"x-default", "none"}}));
  EXPECT_EQ(properties.at("sizes"), Json({{"type", "array"},
                                          {"items", {{"type", "integer"}, {"minimum", 1}}},
                                          {"minItems", 1},
                                          {"uniqueItems", true}}));
}

}  // namespace
}  // namespace plumbline::testing
