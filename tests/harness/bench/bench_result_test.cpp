#include "record/bench_result.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "support/error.hpp"
#include "tests/harness/bench/bench_results.hpp"
#include "tests/json_schema.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

class BenchFile : public ::testing::Test {
 protected:
  std::string refusal(const std::function<void(Json&)>& damage) const {
    Json json = to_json(bench_result());
    damage(json);
    write_json(folder_ / "bench.json", json);
    return error_of<InputError>([&] { read_bench_result(folder_ / "bench.json"); });
  }

  TemporaryFolder folder_;
};

TEST_F(BenchFile, ReadsBackAsItWasWritten) {
  write_json(folder_ / "bench.json", to_json(bench_result()));

  EXPECT_EQ(to_json(read_bench_result(folder_ / "bench.json")).dump(), to_json(bench_result()).dump());
}

TEST_F(BenchFile, KeepsEachOfItsValues) {
  BenchResult result = bench_result();
  result.cells[1].bubble->closed_form = 0.125;
  result.failed = {"tiny-w8: out of memory"};
  write_json(folder_ / "bench.json", to_json(result));

  const BenchResult read = read_bench_result(folder_ / "bench.json");

  ASSERT_EQ(read.references.size(), 1U);
  EXPECT_EQ(read.references[0].tokens_per_s.median, 10000);
  EXPECT_EQ(read.references[0].second.low, 0.98);
  ASSERT_EQ(read.cells.size(), 3U);
  EXPECT_EQ(read.cells[1].efficiency.value().median, 1.65 / 2);
  EXPECT_EQ(read.cells[1].bubble.value().measured.high, 0.15);
  EXPECT_EQ(read.cells[1].bubble->simulated, 0.11);
  EXPECT_EQ(read.cells[1].bubble->closed_form, 0.125);
  EXPECT_EQ(read.cells[1].simulated_speed, 1.78);
  EXPECT_FALSE(read.cells[2].bubble.value().closed_form);
  EXPECT_FALSE(read.cells[2].efficiency) << "more ranks than cores";
  EXPECT_FALSE(read.cells[0].bubble || read.cells[0].simulated_speed);
  EXPECT_THAT(read.failed, ::testing::ElementsAre("tiny-w8: out of memory"));
}

TEST_F(BenchFile, ASpeedOfNothingIsNone) {
  EXPECT_THAT(refusal([](Json& json) { json["cells"][1]["speed"]["low"] = 0; }),
              HasSubstr("cells[1].speed: is not above 0"));
  EXPECT_THAT(refusal([](Json& json) { json["cells"][1]["round_speeds"][1] = 0; }), HasSubstr("round_speeds"));
}

TEST_F(BenchFile, AMedianLiesInItsInterval) {
  for (const auto& [key, value] : {std::pair("median", 47), std::pair("median", 53), std::pair("high", 49)})
    EXPECT_THAT(refusal([&, &at = key, to = value](Json& json) { json["cells"][0]["step_ms"][at] = to; }),
                HasSubstr("cells[0].step_ms: its median does not lie in its interval"));
}

TEST_F(BenchFile, DamageIsRefusedByItsKey) {
  EXPECT_THAT(refusal([](Json& json) { json["schema"] = "plumbline-bench/9"; }), HasSubstr("plumbline-bench/9"));
  EXPECT_THAT(refusal([](Json& json) { json.erase("noise"); }), HasSubstr("noise"));
  EXPECT_THAT(refusal([](Json& json) { json["machine"] = 3; }), HasSubstr("machine"));
  EXPECT_THAT(refusal([](Json& json) { json["cells"][1]["speed"]["low"] = 9; }), HasSubstr("speed"));
  EXPECT_THAT(refusal([](Json& json) { json["cells"][1]["speed"]["low"] = -1; }), HasSubstr("speed"));
  EXPECT_THAT(refusal([](Json& json) { json["cells"][1]["world"] = 0; }), HasSubstr("world"));
  EXPECT_THAT(refusal([](Json& json) { json["cells"][0]["fast_speed"] = 0; }), HasSubstr("fast_speed"));
  EXPECT_THAT(refusal([](Json& json) { json["cells"][0]["round_speeds"][1] = "x"; }), HasSubstr("round_speeds"));
  EXPECT_THAT(refusal([](Json& json) { json["cells"][0]["round_speeds"][1] = -1; }), HasSubstr("round_speeds"));
}

TEST_F(BenchFile, IsAcceptedByTheSchemaInTheDocsAndDamageIsNot) {
  if (!can_validate()) GTEST_SKIP() << no_validator;
  const auto schema = std::filesystem::path(PLUMBLINE_FIXTURES).parent_path() / "docs/schemas/bench.schema.json";
  const auto valid = [&](const std::function<void(Json&)>& change) {
    Json json = to_json(bench_result());
    change(json);
    return validate(folder_.file("b.json", json.dump()), schema) == 0;
  };

  EXPECT_TRUE(valid([](Json&) {}));
  EXPECT_FALSE(valid([](Json& json) { json["more"] = 1; }));
  EXPECT_FALSE(valid([](Json& json) { json["cells"][0].erase("speed"); }));
  EXPECT_FALSE(valid([](Json& json) { json["references"][0]["second"]["median"] = "1"; }));
}

}  // namespace
}  // namespace plumbline::testing
