// SPDX-License-Identifier: BSD-3-Clause
#include "record/verdict.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "support/error.hpp"
#include "tests/json_schema.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

Verdict example() {
  Finding divergence;
  divergence.level = "R2";
  divergence.step = 1;
  divergence.microbatch = 3;
  divergence.stage = 2;
  divergence.direction = "backward";
  divergence.item = "layers.3";
  divergence.expected = "aa";
  divergence.got = "bb";
  divergence.size = "l2 1.5 times the reference's";
  divergence.words = "the bits differ";
  CheckResult exact;
  exact.name = "boundaries";
  exact.outcome = Outcome::fails;
  exact.reason = "the bits differ";
  exact.compared = {{"tensors", 80}};
  exact.inspected = {{"ranks", 4}};
  exact.not_shown = {"a gradient kept from the step before: the run has one step"};
  exact.limit = "0 ULP";
  exact.measured = "1 difference";
  exact.first_divergence = divergence;
  CheckResult with_margin;
  with_margin.name = "memory";
  with_margin.outcome = Outcome::holds;
  with_margin.margin = 0.75;
  with_margin.predicted_peak_bytes = {400, 300};
  with_margin.requirement = Requirement::informational;
  CellVerdict cell;
  cell.id = "tiny-adamw-1f1b-w4";
  cell.run = "tiny.toml";
  cell.model = "tiny";
  cell.schedule = "1f1b";
  cell.optimizer = "adamw";
  cell.world = 4;
  cell.balance = {2, 0, 3};
  cell.variant = "partition cost";
  cell.reference = "tiny-adamw";
  cell.seconds = 1.5;
  cell.second_run = SecondRun{SecondRun::Outcome::holds, "every check holds"};
  cell.values = ValueFindings{1,
                              "gradient/lm_head.weight",
                              {{0, 0, 3}, {2, 3, 1}},
                              2,
                              {{"not_scaled", "gradients are 8 x", "ratio 8", "the loss was not scaled"}},
                              ""};
  cell.request = {{"world_size", 4}};
  cell.versions = {{"mpi", "Open MPI 4.1.4"}};
  cell.not_recorded = {{"candidate", "receives", "torch 2.16.0 has no get_fwd_recv_ops", "2.16.0"}};
  cell.norm_diverged_at = 1;
  cell.missing = {{"gradients", 2, "a rounding", true}, {"buffers", std::nullopt, "they were not recorded", false}};
  cell.command = "plumbline sweep";
  cell.checks = {exact, with_margin};
  cell.first_divergence = divergence;
  Verdict verdict;
  verdict.name = "default";
  verdict.started = "2026-01-01T00:00:00Z";
  verdict.comparison_mode = ComparisonMode::calibrated;
  verdict.selection = {1, 12, {"boundaries", "memory"}};
  verdict.harness = {{"version", "1.2.3"}};
  ReferenceVerdict reference;
  reference.id = "tiny-adamw";
  reference.run = "tiny.toml";
  reference.model = "tiny";
  reference.optimizer = "adamw";
  reference.finished = true;
  reference.reason = "it was killed";
  reference.seconds = 2.5;
  reference.request = {{"world_size", 1}};
  reference.versions = {{"libtorch", "2.11.0"}};
  reference.checks = {with_margin};
  verdict.references = {reference};
  verdict.cells = {cell};
  verdict.not_run = {"tiny-w8: stopped"};
  verdict.not_applicable = {"tiny-dualpipe-v-w8: needs 16 microbatches"};
  verdict.machine = {{"cores", 2}};
  sum_up(verdict);
  return verdict;
}

TEST(Verdict, OnlyARequiredCheckThatShowsNothingStandsInTheWayAndAnyThatFails) {
  CheckResult check;
  for (const auto outcome : {Outcome::not_run, Outcome::not_triggered, Outcome::fails}) {
    check.outcome = outcome;
    check.requirement = Requirement::required;
    EXPECT_TRUE(is_blocking(check)) << to_text(outcome);
    check.requirement = Requirement::informational;
    EXPECT_EQ(is_blocking(check), outcome == Outcome::fails) << to_text(outcome);
  }
  check.requirement = Requirement::required;
  for (const auto outcome : {Outcome::holds, Outcome::not_applicable}) {
    check.outcome = outcome;
    EXPECT_FALSE(is_blocking(check)) << to_text(outcome);
  }
}

/// Keys that are a run's own (request, versions) or that are named by what was counted: no schema lists them.
bool open(const std::string& path) {
  for (const char* part : {"request.", "versions.", "counts.", "compared.", "looked_at.", "harness.", "machine."}) {
    if (path.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Verdict, SchemaInTheDocsHasEveryKeyThatIsWrittenAndNoOther) {
  const auto path = std::filesystem::path(PLUMBLINE_FIXTURES).parent_path() / "docs/schemas/verdict.schema.json";
  const Json schema = read_json(path);
  std::set<std::string> written, described;
  collect_keys(to_json(example()), "", written);
  std::erase_if(written, open);
  collect_properties(schema, schema, "", described, KeysMayBeAbsent::no);
  std::erase_if(described, open);

  // In the example one reference's check stands for those of cells: the same schema.
  EXPECT_EQ(written.size() > 40, true);
  for (const auto& key : written) EXPECT_TRUE(described.contains(key)) << key << " is written and not in the schema";
  for (const auto& key : described) {
    const bool inside_null = key.find("references[].checks[].first_divergence.") == 0;
    const bool is_of_kept_ones = key == "digest";  // a sweep adds it: Resume.AKeptVerdictThatIsNotAsItWasWritten...
    EXPECT_TRUE(written.contains(key) || inside_null || is_of_kept_ones) << key << " is in the schema and not written";
  }
  EXPECT_EQ(schema.at("properties").at("schema").at("const"), verdict_schema);
}

TEST(Verdict, IsAcceptedByTheSchemaInTheDocsAndDamageIsNot) {
  if (!can_validate()) GTEST_SKIP() << no_validator;
  const auto schema = std::filesystem::path(PLUMBLINE_FIXTURES).parent_path() / "docs/schemas/verdict.schema.json";
  const Json whole = to_json(example());
  Json without_cells = whole;
  without_cells["cells"] = Json::array();

  expect_by_schema(schema, {whole, without_cells},
                   with_each(whole, {[](Json& json) { json.erase("tier"); }, [](Json& json) { json["more"] = 1; },
                                     [](Json& json) { json["cells"][0]["checks"][0]["outcome"] = "passed"; },
                                     [](Json& json) { json["cells"][0]["checks"][0]["compared"]["tensors"] = "many"; },
                                     [](Json& json) { json["cells"][0]["first_divergence"].erase("size"); }}));
}

TEST(Verdict, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  write_verdict(folder / "verdict.json", example());

  const Verdict verdict = read_verdict(folder / "verdict.json");

  EXPECT_EQ(to_json(verdict), to_json(example()));
  EXPECT_EQ(verdict.cells[0].not_recorded, example().cells[0].not_recorded);
  EXPECT_EQ(verdict.cells[0].norm_diverged_at, 1);
  EXPECT_EQ(verdict.cells[0].missing, example().cells[0].missing);
  EXPECT_EQ(verdict.cells[0].balance, (std::vector<std::int64_t>{2, 0, 3}));
  EXPECT_EQ(verdict.cells[0].checks[1].requirement, Requirement::informational);
  EXPECT_TRUE(verdict.cells[0].unstable());
  EXPECT_TRUE(verdict.selection.partial());
  EXPECT_EQ(verdict.comparison_mode, ComparisonMode::calibrated);
  EXPECT_EQ(verdict.cells[0].first_divergence->microbatch, 3);
}

TEST(Verdict, AnotherSchemaIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.file("verdict.json", R"({"schema": "plumbline-verdict/3"})");

  EXPECT_THAT(error_of<InputError>([&] { read_verdict(path); }), HasSubstr("plumbline-verdict/3"));
}

TEST(Verdict, FirstSchemaIsReadAndItsCountsClaimNoComparison) {
  const Verdict verdict = read_verdict(PLUMBLINE_FIXTURES "/verdicts/schema-1.json");

  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.cells.size(), 3U);
  EXPECT_EQ(verdict.comparison_mode, ComparisonMode::bits);
  EXPECT_FALSE(verdict.selection.partial());
  EXPECT_TRUE(verdict.compared.empty());
  EXPECT_EQ(verdict.inspected.at("elements"), 11'361'883'392);
  EXPECT_EQ(verdict.counts.at("cells_holding"), 3);
  for (const auto& check : verdict.cells[0].checks) {
    EXPECT_EQ(check.requirement == Requirement::not_applicable, check.outcome == Outcome::not_applicable) << check.name;
  }
}

TEST(Verdict, MissingKeyAndWrongTypeAreNamedWithFileAndPlace) {
  const TemporaryFolder folder;
  const auto message = [&](const std::function<void(Json&)>& damage) {
    Json json = to_json(example());
    damage(json);
    const auto path = folder.file("verdict.json", json.dump());
    return error_of<InputError>([&] { read_verdict(path); });
  };

  EXPECT_THAT(message([](Json& json) { json["cells"][0]["checks"][1].erase("limit"); }),
              HasSubstr("verdict.json: key cells[0].checks[1].limit: is missing"));
  EXPECT_THAT(message([](Json& json) { json["holds"] = true; }),
              HasSubstr("key holds: is true, but tiny-adamw-1f1b-w4 does not hold"));
  EXPECT_THAT(message([](Json& json) { json["cells"][0]["holds"] = true; }),
              HasSubstr("tiny-adamw-1f1b-w4 holds, but its required check boundaries does not"));
  EXPECT_THAT(message([](Json& json) { json["cells"][0]["world"] = "four"; }),
              HasSubstr("key cells[0].world: must be an integer"));
  EXPECT_THAT(message([](Json& json) { json["cells"][0]["world"] = -1; }), HasSubstr("-1 is not between 0 and"));
  EXPECT_THAT(message([](Json& json) { json["cells"][0]["replicas"] = 0; }), HasSubstr("0 is not between 1 and"));
  EXPECT_THAT(message([](Json& json) { json["selection"]["cells"] = -1; }), HasSubstr("-1 is not between 0 and"));
  EXPECT_THAT(message([](Json& json) { json["cells"][0]["checks"][0]["compared"]["tensors"] = "all"; }),
              HasSubstr("key cells[0].checks[0].compared: must be an object of integers"));
  EXPECT_THAT(message([](Json& json) { json["cells"][0]["checks"][0]["requirement"] = "wished"; }),
              HasSubstr("cells[0].checks[0].requirement: 'wished' is not known; known: required"));
  EXPECT_THAT(message([](Json& json) { json["tier"] = "both"; }),
              HasSubstr("key tier: 'both' is not known; known: bits"));
  EXPECT_THAT(message([](Json& json) { json["cells"][0]["second_run"]["outcome"] = "fine"; }),
              HasSubstr("cells[0].second_run.outcome"));
  EXPECT_THAT(message([](Json& json) { json["cells"][0]["values"].erase("step"); }), HasSubstr("cells[0].values"));
}

TEST(Verdict, OutcomesHaveTheNamesOfTheSchema) {
  using enum Outcome;
  for (const auto& [outcome, name] : {std::pair{holds, "holds"},
                                      {fails, "fails"},
                                      {not_run, "not_run"},
                                      {not_applicable, "not_applicable"},
                                      {not_triggered, "not_triggered"}})
    EXPECT_EQ(to_text(outcome), name);
}

}  // namespace
}  // namespace plumbline::testing
