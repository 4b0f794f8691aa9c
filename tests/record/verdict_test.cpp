// SPDX-License-Identifier: BSD-3-Clause
#include "record/verdict.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "support/error.hpp"
#include "tests/json_schema.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

Verdict example() {
  Finding divergence;
  divergence.claim = "boundaries";
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
  exact.outcome = Outcome::differs;
  exact.reason = "the bits differ";
  exact.compared = {{"tensors", 80}};
  exact.inspected = {{"ranks", 4}};
  exact.not_shown = {"a gradient kept from the step before (the run has only one step)"};
  exact.limit = "0 ULP";
  exact.measured = "1 difference";
  exact.first_divergence = divergence;
  CheckResult with_margin;
  with_margin.name = "memory";
  with_margin.outcome = Outcome::holds;
  with_margin.margin = 0.75;
  with_margin.predicted_peak_bytes = {400, 300};
  with_margin.required = false;
  CheckResult in_part;
  in_part.name = "gradients";
  in_part.accepted = true;
  in_part.from_step = 2;
  in_part.reason = "a rounding";
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
  cell.request = {{"world_size", 4}};
  cell.versions = {{"mpi", "Open MPI 4.1.4"}};
  cell.not_recorded = {{"candidate", "receives", "torch 2.16.0 has no get_fwd_recv_ops", "2.16.0", 3}};
  cell.command = "plumbline sweep";
  cell.checks = {exact, with_margin, in_part};
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

TEST(Verdict, FailsForAnyFailedCheckAndForARequiredIncompleteOne) {
  CheckResult check;
  for (const auto outcome : {Outcome::incomplete, Outcome::differs}) {
    check.outcome = outcome;
    check.required = true;
    check.accepted = false;
    EXPECT_TRUE(is_blocking(check)) << to_text(outcome);
    check.accepted = true;
    EXPECT_EQ(is_blocking(check), outcome == Outcome::differs) << to_text(outcome);
    check.accepted = check.required = false;
    EXPECT_EQ(is_blocking(check), outcome == Outcome::differs) << to_text(outcome);
  }
  check.required = true;
  for (const auto outcome : {Outcome::holds, Outcome::does_not_apply}) {
    check.outcome = outcome;
    EXPECT_FALSE(is_blocking(check)) << to_text(outcome);
  }
}

/// Keys that depend on the run (request, versions) or on what was counted; no schema lists them.
bool open(const std::string& path) {
  for (const char* part : {"request.", "versions.", "counts.", "compared.", "inspected.", "harness.", "machine."}) {
    if (path.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(Verdict, SchemaListsExactlyTheWrittenKeys) {
  const auto path = std::filesystem::path(source_path()) / "docs/schemas/verdict.schema.json";
  const Json schema = read_json(path);
  std::set<std::string> written, described;
  collect_keys(to_json(example()), "", written);
  std::erase_if(written, open);
  collect_properties(schema, schema, "", described, KeysMayBeAbsent::no);
  std::erase_if(described, open);

  // In the example a claim of a reference represents those of cases.
  EXPECT_EQ(written.size() > 40, true);
  for (const auto& key : written) EXPECT_TRUE(described.contains(key)) << key << " is written but not in the schema";
  for (const auto& key : described) {
    const bool is_of_kept_ones = key == "digest";  // a sweep adds it: Resume.AKeptVerdictThatIsNotAsItWasWritten...
    EXPECT_TRUE(written.contains(key) || is_of_kept_ones) << key << " is in the schema but not written";
  }
  EXPECT_EQ(schema.at("properties").at("schema").at("const"), verdict_schema);
}

TEST(Verdict, SchemaAcceptsAVerdictAndRefusesDamage) {
  if (!can_validate()) GTEST_SKIP() << no_validator;
  const auto schema = std::filesystem::path(source_path()) / "docs/schemas/verdict.schema.json";
  const Json whole = to_json(example());
  Json without_cells = whole;
  for (const char* list : {"cases", "claims", "findings", "excuses"}) without_cells[list] = Json::array();

  expect_by_schema(schema, {whole, without_cells},
                   with_each(whole, {[](Json& json) { json.erase("mode"); }, [](Json& json) { json["more"] = 1; },
                                     [](Json& json) { json["claims"][0]["outcome"] = "passed"; },
                                     [](Json& json) { json["claims"][1]["compared"]["tensors"] = "many"; },
                                     [](Json& json) { json["findings"][0].erase("size"); }}));
}

TEST(Verdict, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  write_verdict(folder / "verdict.json", example());

  const Verdict verdict = read_verdict(folder / "verdict.json");

  EXPECT_EQ(to_json(verdict), to_json(example()));
  EXPECT_EQ(verdict.cells[0].not_recorded, example().cells[0].not_recorded);
  EXPECT_EQ(verdict.cells[0].checks[2].from_step, 2);
  EXPECT_TRUE(verdict.cells[0].checks[2].accepted);
  EXPECT_EQ(verdict.cells[0].balance, (std::vector<std::int64_t>{2, 0, 3}));
  EXPECT_FALSE(verdict.cells[0].checks[1].required);
  EXPECT_EQ(verdict.cells[0].checks[0].first_divergence->words, "the bits differ");
  EXPECT_TRUE(verdict.cells[0].unstable());
  EXPECT_TRUE(verdict.selection.partial());
  EXPECT_EQ(verdict.comparison_mode, ComparisonMode::calibrated);
  EXPECT_EQ(verdict.cells[0].first_divergence->microbatch, 3);
}

TEST(Verdict, RefusesAnotherSchema) {
  const TemporaryFolder folder;
  const auto path = folder.file("verdict.json", R"({"schema": "plumbline-verdict/2"})");

  EXPECT_THAT(error_of<InputError>([&] { read_verdict(path); }), HasSubstr("plumbline-verdict/2"));
}

TEST(Verdict, ReasonNamesItsStep) {
  CheckResult check;
  check.reason = "a rounding";
  EXPECT_EQ(reason_words(check), "a rounding");
  check.from_step = 5;
  EXPECT_EQ(reason_words(check), "compared through step 4; from step 5 on: a rounding");
  check.from_step = 0;
  EXPECT_EQ(reason_words(check), "from step 0 on: a rounding");
}

TEST(Verdict, ACaseIsIncompleteIfNothingDiffersAndARequiredClaimIsIncomplete) {
  CellVerdict cell = example().cells[0];
  EXPECT_FALSE(cell.incomplete()) << "boundaries differ";
  cell.checks[0].outcome = Outcome::holds;
  EXPECT_FALSE(cell.incomplete()) << "accepted";
  EXPECT_EQ(missing_words(cell.checks, true), "gradients were not compared from step 2 on: a rounding");
  cell.checks[2].accepted = false;
  EXPECT_TRUE(cell.incomplete());
  EXPECT_EQ(accepting_option(cell.checks), "--accept-missing gradients");
  EXPECT_EQ(accepting_key(cell.checks), "accept_missing = [\"gradients\"]");
  cell.checks[1].outcome = Outcome::incomplete;
  cell.checks[1].required = true;
  EXPECT_TRUE(cell.incomplete());
  EXPECT_TRUE(acceptable_claims(cell.checks).empty()) << "an incomplete memory check cannot be accepted";
}

TEST(Verdict, NamesFileAndPlaceOfAMissingKeyOrWrongType) {
  const TemporaryFolder folder;
  const auto message = [&](const std::function<void(Json&)>& damage) {
    Json json = to_json(example());
    damage(json);
    const auto path = folder.file("verdict.json", json.dump());
    return error_of<InputError>([&] { read_verdict(path); });
  };

  EXPECT_THAT(message([](Json& json) { json["claims"][1].erase("limit"); }),
              HasSubstr("verdict.json: key claims[1].limit: is missing"));
  EXPECT_THAT(message([](Json& json) { json["holds"] = true; }),
              HasSubstr("key holds: is true, but tiny-adamw-1f1b-w4 does not hold"));
  EXPECT_THAT(message([](Json& json) { json["cases"][0]["holds"] = true; }),
              HasSubstr("tiny-adamw-1f1b-w4 holds, but its required check boundaries does not"));
  EXPECT_THAT(message([](Json& json) { json["cases"][0]["world"] = "four"; }),
              HasSubstr("key cases[0].world: must be an integer"));
  EXPECT_THAT(message([](Json& json) { json["cases"][0]["world"] = -1; }), HasSubstr("-1 is not between 0 and"));
  EXPECT_THAT(message([](Json& json) { json["cases"][0]["replicas"] = 0; }), HasSubstr("0 is not between 1 and"));
  EXPECT_THAT(message([](Json& json) { json["selection"]["cases"] = -1; }), HasSubstr("-1 is not between 0 and"));
  EXPECT_THAT(message([](Json& json) { json["claims"][1]["compared"]["tensors"] = "all"; }),
              HasSubstr("key claims[1].compared: must be an object of integers"));
  EXPECT_THAT(message([](Json& json) { json["claims"][0]["outcome"] = "wished"; }),
              HasSubstr("claims[0].outcome: 'wished' is not known; known: holds"));
  EXPECT_THAT(message([](Json& json) { json["claims"][1]["case"] = "other"; }),
              HasSubstr("claims[1].case: 'other' is not a case of this verdict"));
  EXPECT_THAT(message([](Json& json) { json["claims"][0]["reference"] = "other"; }),
              HasSubstr("claims[0].reference: is not a reference of this verdict"));
  EXPECT_THAT(message([](Json& json) { json["findings"][0]["claim"] = "loss"; }),
              HasSubstr("findings[0].claim: 'loss' is no claim of its case"));
  EXPECT_THAT(message([](Json& json) { json["mode"] = "both"; }),
              HasSubstr("key mode: 'both' is not known; known: bits"));
  EXPECT_THAT(message([](Json& json) { json["cases"][0]["second_run"]["outcome"] = "fine"; }),
              HasSubstr("cases[0].second_run.outcome"));
}

TEST(Verdict, OutcomeNamesMatchTheSchema) {
  using enum Outcome;
  for (const auto& [outcome, name] : {std::pair{holds, "holds"},
                                      {differs, "differs"},
                                      {incomplete, "incomplete"},
                                      {does_not_apply, "does_not_apply"}})
    EXPECT_EQ(to_text(outcome), name);
}

}  // namespace
}  // namespace plumbline::testing
