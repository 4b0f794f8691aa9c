// SPDX-License-Identifier: BSD-3-Clause
#include "record/table_keys.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "record/record_error.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// A record of three steps of two microbatches; tests change one line of one table.
class TableKeysOfARecord : public ::testing::Test {
 protected:
  TableKeysOfARecord() {
    Json json = sample_manifest();
    json["steps"] = 3;
    json["data"]["microbatches"] = 2;
    json["schedule"]["microbatches"] = 2;
    begin_record(record, json);
    for (std::int64_t rank = 0; rank < 3; ++rank) write_rank(rank);
  }

  void write_rank(std::int64_t rank) const {
    RecordWriter writer(record, rank, RecordLevel::full, false);
    for (std::int64_t step = 0; step < 3; ++step) {
      MicrobatchRow second = sample_microbatch(rank, step);
      second.microbatch = 1;
      writer.add(second);
      ActionRow later = sample_action(rank, step);
      later.index = 1;
      writer.add(later);
      add_sample_step(writer, rank, step);
    }
    writer.finish(good_exit(rank));
  }

  std::filesystem::path file(const std::string& name) const { return record / "rank-1" / name; }

  std::vector<std::string> lines(const std::string& name) const {
    std::vector<std::string> all;
    std::istringstream text(bytes_of(file(name)));
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  }

  /// The reader's message when the table has these lines.
  std::string refusal(const std::string& name, const std::vector<std::string>& lines) {
    const std::string before = bytes_of(file(name));
    std::string bytes;
    for (const std::string& line : lines) bytes += line + "\n";
    overwrite(file(name), bytes);
    std::string words;
    try {
      read_record(record);
    } catch (const RecordError& error) {
      words = error.what();
      EXPECT_EQ(error.place().file, "rank-1/" + name);
      EXPECT_EQ(error.place().rank, 1);
      step_told = error.place().step;
    }
    overwrite(file(name), before);
    return words;
  }

  std::string without(const std::string& name, std::size_t line) {
    auto changed = lines(name);
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(line));
    return refusal(name, changed);
  }
  std::string doubled(const std::string& name, std::size_t line) {
    auto changed = lines(name);
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(line), changed[line]);
    return refusal(name, changed);
  }

  TemporaryFolder folder;
  std::filesystem::path record = folder / "run";
  std::optional<std::int64_t> step_told;
};

TEST_F(TableKeysOfARecord, NamesLineAndKeyOfADuplicateRow) {
  EXPECT_EQ(read_record(record).ranks.size(), 3u) << "the unchanged record is accepted";
  for (const char* name :
       {"steps.csv", "microbatches.csv", "boundaries.csv", "actions.csv", "memory.csv", "traffic.csv"})
    EXPECT_THAT(doubled(name, 2), HasSubstr(file(name).string() + ":4: a second row of the same key: step ")) << name;
  EXPECT_THAT(doubled("microbatches.csv", 1), EndsWith(":3: a second row of the same key: step 0, microbatch 1"));
}

TEST_F(TableKeysOfARecord, NamesAStepWithoutARow) {
  for (const char* name : {"steps.csv", "memory.csv"}) {
    for (std::size_t line = 1; line <= 3; ++line) {
      EXPECT_THAT(without(name, line), HasSubstr("no row of step " + std::to_string(line - 1))) << name;
      EXPECT_EQ(step_told, static_cast<std::int64_t>(line) - 1);
    }
  }
}

TEST_F(TableKeysOfARecord, NamesAMicrobatchOrActionWithoutARow) {
  EXPECT_THAT(without("actions.csv", 4), HasSubstr("step 1 has no row of index 0"));
  EXPECT_THAT(without("microbatches.csv", 1), HasSubstr("step 0 has no row of microbatch 1"));
  EXPECT_THAT(without("microbatches.csv", 4), HasSubstr("step 1 has no row of microbatch 0"));
  EXPECT_THAT(without("microbatches.csv", 6), HasSubstr("step 2 has no row of microbatch 0"));
  EXPECT_EQ(step_told, 2);
}

TEST_F(TableKeysOfARecord, RefusesUnknownStepsInEveryTable) {
  for (const char* name :
       {"steps.csv", "microbatches.csv", "boundaries.csv", "actions.csv", "memory.csv", "traffic.csv"}) {
    for (const char* other : {"3", "-7"}) {
      auto changed = lines(name);
      changed.back().replace(0, changed.back().find(','), other);
      EXPECT_THAT(refusal(name, changed), HasSubstr("column 'step': '" + std::string(other) + "' is not a")) << name;
    }
  }
}

TEST_F(TableKeysOfARecord, RefusesStepsOutOfOrder) {
  auto changed = lines("boundaries.csv");
  std::swap(changed[1], changed[2]);

  EXPECT_THAT(refusal("boundaries.csv", changed),
              HasSubstr("boundaries.csv:3: a row of step 0 after those of step 1: rows are written step by step"));
}

TEST_F(TableKeysOfARecord, AFailedRankMayLackRows) {
  std::filesystem::remove(file("exit.json"));

  EXPECT_EQ(without("memory.csv", 2), "");
  EXPECT_EQ(without("microbatches.csv", 2), "");
  EXPECT_THAT(doubled("memory.csv", 2), HasSubstr("a second row of the same key"));
}

/// The error for one step with these numbers, in this order.
std::string wrong_in(const std::vector<std::int64_t>& numbers, Complete demand) {
  Manifest manifest;
  manifest.steps = 1;
  manifest.microbatches = 4;
  TableKeys keys(manifest, demand, /*complete=*/true);
  for (const std::int64_t number : numbers)
    if (const auto wrong = keys.accept(0, number, [&] { return std::to_string(number); })) return *wrong;
  return keys.finish().value_or("");
}

TEST(TableKeys, ActionsThatTheRecorderLostMayBeMissing) {
  for (const bool lost : {false, true}) {
    Manifest manifest;
    manifest.steps = 3;
    if (lost) manifest.not_recorded = {{"actions", "torch has none"}};
    TableKeys actions(manifest, Complete::each_index, true), steps(manifest, Complete::each_step, true);
    for (TableKeys* keys : {&actions, &steps})
      for (const std::int64_t step : {0, 1})
        EXPECT_EQ(keys->accept(step, 0, [] { return std::string(); }), std::nullopt);

    EXPECT_EQ(actions.finish().value_or("").find("no row of step 2") == 0, !lost);
    EXPECT_THAT(steps.finish().value_or(""), ::testing::StartsWith("no row of step 2"));
  }
}

TEST(TableKeys, AStepsNumbersMayComeInAnyOrderButOnlyOnce) {
  for (const auto demand : {Complete::each_microbatch, Complete::each_index}) {
    EXPECT_EQ(wrong_in({0, 1, 2, 3}, demand), "");
    EXPECT_EQ(wrong_in({3, 1, 2, 0}, demand), "");
    EXPECT_EQ(wrong_in({3, 3, 0, 1, 2}, demand), "a second row of the same key: 3");
    EXPECT_EQ(wrong_in({1, 0, 1, 2, 3}, demand), "a second row of the same key: 1");
    EXPECT_EQ(wrong_in({2, 0, 3}, demand).find("step 0 has no row of "), 0U);
    EXPECT_EQ(wrong_in({1, 3, 0}, demand).find("step 0 has no row of "), 0U);
  }
  EXPECT_EQ(wrong_in({2, 0, 3}, Complete::each_index), "step 0 has no row of index 1");
  EXPECT_EQ(wrong_in({1, 3, 0}, Complete::each_index), "step 0 has no row of index 2");
  EXPECT_EQ(wrong_in({0, 1, 2}, Complete::each_microbatch), "step 0 has no row of microbatch 3");
  EXPECT_EQ(wrong_in({0, 1}, Complete::each_index), "") << "a check judges how many there are";
}

TEST(TableKeys, SavedBytesHaveOneRowForEachMicrobatchAndUnit) {
  Manifest manifest;
  manifest.microbatches = 2;
  manifest.stages = {{0, 0, {"embed_tokens", "norm"}}};
  TableKeys keys(manifest, Complete::each_microbatch_unit, true);
  const auto accept = [&](const std::string& key) { return keys.accept({}, 0, [&] { return key; }); };
  for (const char* key : {"0 embed_tokens", "0 norm", "1 embed_tokens"}) EXPECT_FALSE(accept(key));

  EXPECT_THAT(accept("0 norm").value(), HasSubstr("a second row of the same key: 0 norm"));
  EXPECT_THAT(keys.finish().value(), HasSubstr("has 3 rows, not one for each of 2 microbatches and 2 units"));
  accept("1 norm");
  EXPECT_FALSE(keys.finish());
}

}  // namespace
}  // namespace plumbline
