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
