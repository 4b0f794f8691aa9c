#include "record/verdict.hpp"

#include <gmock/gmock.h>

#include <limits>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

Verdict example() {
  FirstDivergence divergence;
  divergence.rung = "R2";
  divergence.step = 1;
  divergence.microbatch = 3;
  divergence.stage = 2;
  divergence.direction = "backward";
  divergence.item = "layers.3";
  divergence.expected = "aa";
  divergence.got = "bb";
  divergence.words = "the bits differ";
  CheckResult exact;
  exact.name = "boundaries";
  exact.outcome = Outcome::fails;
  exact.reason = "the bits differ";
  exact.looked_at = {{"tensors", 80}};
  exact.limit = "0 ULP";
  exact.measured = "1 difference";
  exact.first_divergence = divergence;
  CheckResult with_margin;
  with_margin.name = "memory";
  with_margin.outcome = Outcome::holds;
  with_margin.margin = 0.75;
  with_margin.predicted_peak_bytes = {400, 300};
  with_margin.required = false;
  CellVerdict cell;
  cell.id = "tiny-adamw-1f1b-w4";
  cell.run = "tiny.toml";
  cell.model = "tiny";
  cell.schedule = "1f1b";
  cell.optimizer = "adamw";
  cell.world = 4;
  cell.balance = {2, 0, 3};
  cell.seconds = 1.5;
  cell.command = "plumbline sweep";
  cell.checks = {exact, with_margin};
  cell.first_divergence = divergence;
  Verdict verdict;
  verdict.name = "default";
  verdict.started = "2026-01-01T00:00:00Z";
  verdict.counts = {{"cells", 1}};
  verdict.cells = {cell};
  verdict.not_run = {"tiny-w8: stopped"};
  verdict.not_applicable = {"tiny-dualpipe-v-w8: needs 16 microbatches"};
  verdict.machine = {{"cores", 2}};
  return verdict;
}

TEST(Verdict, HasTheKeysThatTheSchemaNames) {
  const Json json = to_json(example());

  EXPECT_EQ(json.at("schema"), "plumbline-verdict/1");
  EXPECT_EQ(json.at("holds"), false);
  EXPECT_EQ(json.at("counts").at("cells"), 1);
  const Json& cell = json.at("cells").at(0);
  for (const char* key : {"world", "schedule", "model", "optimizer", "holds", "checks"})
    EXPECT_TRUE(cell.contains(key)) << key;
  const Json& check = cell.at("checks").at(0);
  for (const char* key :
       {"name", "outcome", "reason", "looked_at", "limit", "measured", "margin", "first_divergence"}) {
    EXPECT_TRUE(check.contains(key)) << key;
  }
  EXPECT_TRUE(check.at("margin").is_null());
  EXPECT_EQ(check.at("first_divergence").at("item"), "layers.3");
  EXPECT_TRUE(check.at("first_divergence").at("rank").is_null());
  EXPECT_EQ(cell.at("checks").at(1).at("margin"), 0.75);
  EXPECT_TRUE(cell.at("checks").at(1).at("first_divergence").is_null());
  EXPECT_EQ(cell.at("checks").at(1).at("looked_at"), Json::object());
}

TEST(Verdict, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  write_verdict(folder / "verdict.json", example());

  const Verdict verdict = read_verdict(folder / "verdict.json");

  EXPECT_EQ(to_json(verdict), to_json(example()));
  EXPECT_EQ(verdict.cells[0].balance, (std::vector<std::int64_t>{2, 0, 3}));
  EXPECT_FALSE(verdict.cells[0].checks[1].required);
  EXPECT_EQ(verdict.cells[0].first_divergence->microbatch, 3);
}

TEST(Verdict, MarginThatIsNoNumberBecomesNullRatherThanABrokenFile) {
  const TemporaryFolder folder;
  Verdict verdict = example();
  verdict.cells[0].checks[1].margin = std::numeric_limits<double>::quiet_NaN();

  write_verdict(folder / "verdict.json", verdict);

  EXPECT_FALSE(read_verdict(folder / "verdict.json").cells[0].checks[1].margin);
}

TEST(Verdict, AnotherSchemaIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.file("verdict.json", R"({"schema": "plumbline-verdict/2"})");

  EXPECT_THAT(error_of<InputError>([&] { read_verdict(path); }), HasSubstr("plumbline-verdict/2"));
}

TEST(Verdict, MissingKeyAndWrongTypeAreNamedWithFileAndPlace) {
  const TemporaryFolder folder;
  Json json = to_json(example());
  json["cells"][0]["checks"][1].erase("limit");
  const auto missing = folder.file("missing.json", json.dump());
  json = to_json(example());
  json["cells"][0]["world"] = "four";
  const auto wrong = folder.file("wrong.json", json.dump());

  EXPECT_THAT(error_of<InputError>([&] { read_verdict(missing); }),
              HasSubstr("`limit` is missing in cells[0].checks[1]"));
  EXPECT_THAT(error_of<InputError>([&] { read_verdict(wrong); }), HasSubstr("`world` in cells[0] has a wrong type"));
}

TEST(Verdict, OutcomesHaveTheNamesOfTheSchema) {
  for (const char* name : {"holds", "fails", "not_run", "not_applicable", "not_triggered"})
    EXPECT_EQ(to_text(parse_outcome(name)), name);
  EXPECT_THROW(parse_outcome("passed"), InputError);
}

}  // namespace
}  // namespace plumbline::testing
