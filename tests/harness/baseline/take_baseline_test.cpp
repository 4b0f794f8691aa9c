// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/take_baseline.hpp"

#include <algorithm>

#include "harness/baseline/baseline_comparison.hpp"
#include "harness/baseline/run_identity.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/json_schema.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

/// A finished sweep of one reference and one case, rewritten by each call.
class TakeBaseline : public ::testing::Test {
 protected:
  TakeBaseline() {
    verdict_.holds = true;
    verdict_.name = "synthetic";
    verdict_.started = "2026-11-22T00:00:00Z";
    verdict_.machine = {{"device", "cpu"},
                        {"machine", {{"aten_capability", "AVX512"}}},
                        {"versions", {{"libtorch", "2.11.0"}, {"commit", "abc"}}}};
    ReferenceVerdict reference;
    reference.id = "r";
    reference.finished = true;
    reference.request = {{"seed", 1}};
    verdict_.references.push_back(reference);
    CellVerdict cell = cell_.judge();
    cell.id = "c";
    cell.reference = "r";
    cell.request = {{"seed", 1}, {"data", {{"files", {{{"path", "/here/a.txt"}, {"bytes", 3}}}}}}};
    verdict_.cells.push_back(cell);
  }
  Baseline take() {
    fs::remove_all(folder_ / "sweep");
    make_folder(folder_ / "sweep" / "references");
    make_folder(folder_ / "sweep" / "cells");
    for (const auto& reference : verdict_.references)
      write_run(cell_.reference, folder_ / "sweep" / "references" / reference.id);
    for (const auto& cell : verdict_.cells) write_run(cell_.candidate, folder_ / "sweep" / "cells" / cell.id);
    write_verdict(folder_ / "sweep" / "verdict.json", verdict_);
    return take_baseline(folder_ / "sweep", "release");
  }
  std::vector<std::string> changes_since(const Baseline& before) {
    std::vector<std::string> words;
    for (const BaselineChange& change : compare_baselines(before, take()).changes)
      words.push_back(to_text(change.kind) + " " + change.where + ": " + change.words);
    return words;
  }

  SyntheticCell cell_;
  Verdict verdict_;
  TemporaryFolder folder_;
};

TEST_F(TakeBaseline, HoldsWhatEachRunComputedAndTook) {
  auto& actions = cell_.candidate.ranks[0].actions;
  actions.back().peak_bytes = std::ranges::max(actions, {}, &ActionRow::peak_bytes).peak_bytes;  // the peak, once more
  const Baseline baseline = take();

  ASSERT_THAT(baseline.references, SizeIs(1));
  ASSERT_THAT(baseline.cells, SizeIs(1));
  const RunBaseline& reference = baseline.references[0];
  EXPECT_THAT(reference.losses, SizeIs(synthetic_steps));
  EXPECT_THAT(reference.gradient_norms, SizeIs(synthetic_steps));
  EXPECT_EQ(reference.parameters.at("model.norm.weight"),
            tensor_row(cell_.reference, synthetic_steps - 1, "parameter", "model.norm.weight").digest);
  std::int64_t saved = 0;
  for (const SavedRow& row : cell_.reference.ranks[0].saved)
    if (row.unit == "layers.0") saved += row.saved_bytes;
  EXPECT_EQ(reference.saved_bytes.at("layers.0"), saved);
  EXPECT_THAT(baseline.cells[0].parameters, IsEmpty()) << "they are the reference's";
  ASSERT_THAT(baseline.cells[0].ranks, SizeIs(2));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const RankRecord& recorded = cell_.candidate.ranks[rank];
    const RankBytes& taken = baseline.cells[0].ranks[rank];
    EXPECT_EQ(taken.rank, static_cast<std::int64_t>(rank));
    std::int64_t bytes = 0, messages = 0, activations = 0, peak = -1;
    std::string action;
    for (const TrafficRow& row : recorded.traffic) {
      if (row.side == "send") bytes += row.bytes, messages += row.operations;
    }
    for (const MemoryRow& row : recorded.memory)
      activations = std::max(activations, row.activation_peak_bytes.value_or(0));
    for (const ActionRow& row : recorded.actions)
      if (row.peak_bytes.value_or(-1) > peak) peak = *row.peak_bytes, action = row.action;
    EXPECT_EQ(taken.bytes.at("sent_bytes"), bytes);
    EXPECT_EQ(taken.bytes.at("messages_sent"), messages);
    EXPECT_EQ(taken.bytes.at("activation_peak_bytes"), activations);
    EXPECT_EQ(taken.peak_action, action) << "the first of the largest";
  }
  EXPECT_EQ(baseline.cells[0].outcomes.at("loss"), "holds");
  EXPECT_EQ(baseline.commit, "abc");
}

TEST_F(TakeBaseline, SaysOfWhichSweepItIsAndHoldsAllItsRuns) {
  verdict_.references.push_back(verdict_.references[0]);
  verdict_.references.back().id = "s";
  CheckResult bench;
  bench.name = "bench";
  bench.outcome = Outcome::holds;
  verdict_.references.back().checks = {bench};
  verdict_.cells.push_back(verdict_.cells[0]);
  verdict_.cells.back().id = "d";
  verdict_.cells.back().reference = "s";

  const Baseline baseline = take();

  EXPECT_EQ(baseline.name, "release");
  EXPECT_EQ(baseline.sweep, "synthetic");
  EXPECT_EQ(baseline.taken, "2026-11-22T00:00:00Z");
  EXPECT_EQ(baseline.code_path, code_path_of(verdict_.machine));
  ASSERT_THAT(baseline.references, SizeIs(2));
  EXPECT_EQ(baseline.references[1].id, "s");
  EXPECT_EQ(baseline.references[1].outcomes.at("bench"), "holds");
  ASSERT_THAT(baseline.cells, SizeIs(2));
  EXPECT_EQ(baseline.reference_of.at("d"), "s");
}

TEST_F(TakeBaseline, OfACellKeepsOnlyWhatIsNotItsReferences) {
  const Baseline alike = take();
  EXPECT_THAT(alike.cells.at(0).losses, IsEmpty());
  EXPECT_THAT(alike.cells[0].gradient_norms, IsEmpty());

  for (RankRecord& rank : cell_.candidate.ranks) {
    for (StepRow& row : rank.steps) {
      if (row.loss) *row.loss += 1;
      if (row.gradient_norm) *row.gradient_norm += 1;
    }
  }
  const Baseline other = take();
  EXPECT_THAT(other.cells.at(0).losses, SizeIs(synthetic_steps));
  EXPECT_THAT(other.cells[0].gradient_norms, SizeIs(synthetic_steps));
  EXPECT_NE(other.cells[0].losses, other.references.at(0).losses);
}

TEST_F(TakeBaseline, OfNoCellIsRefused) {
  verdict_.cells.clear();

  EXPECT_THAT(error_of<InputError>([&] { take(); }), HasSubstr("no case was run"));
}

TEST_F(TakeBaseline, IsAcceptedByTheSchemaInTheDocsAndDamageIsNot) {
  if (!can_validate()) GTEST_SKIP() << no_validator;
  const fs::path schema = fs::path(PLUMBLINE_FIXTURES).parent_path() / "docs/schemas/baseline.schema.json";
  Baseline baseline = take();
  baseline.accepted.push_back({"abc", "because", {"bits r: loss"}});
  const Json whole = to_json(baseline);

  expect_by_schema(
      schema, {whole},
      with_each(whole, {[](Json& json) { json["more"] = 1; }, [](Json& json) { json["cells"][0].erase("reference"); },
                        [](Json& json) { json["references"][0]["ranks"][0]["peak_bytes"] = -1; }}));
}

TEST_F(TakeBaseline, EverythingInItIsWrittenAndReadBack) {
  Baseline wrote = take();
  wrote.references.push_back(wrote.references[0]);
  wrote.references.back().id = "s";
  wrote.cells.push_back(wrote.cells[0]);
  wrote.cells.back().id = "d";
  wrote.cells.back().losses = {"1", "2"};
  wrote.cells.back().ranks.clear();
  wrote.reference_of["d"] = "s";
  wrote.accepted.push_back({"abc", "because", {"bits r: loss"}});
  write_json(folder_ / "b.json", to_json(wrote));

  const Baseline read = read_baseline(folder_ / "b.json");

  EXPECT_EQ(to_json(read).dump(), to_json(wrote).dump());
  ASSERT_THAT(read.references, SizeIs(2));
  const RunBaseline& run = read.references[0];
  EXPECT_EQ(run.losses, wrote.references[0].losses);
  EXPECT_EQ(run.gradient_norms, wrote.references[0].gradient_norms);
  EXPECT_EQ(run.parameters, wrote.references[0].parameters);
  EXPECT_EQ(run.saved_bytes, wrote.references[0].saved_bytes);
  EXPECT_EQ(run.ranks.at(0).bytes, wrote.references[0].ranks[0].bytes);
  EXPECT_NE(run.ranks[0].peak_action, "");
  EXPECT_EQ(run.ranks[0].peak_action, wrote.references[0].ranks[0].peak_action);
  EXPECT_EQ(read.references[1].id, "s");
  ASSERT_THAT(read.cells, SizeIs(2));
  EXPECT_THAT(read.cells[1].losses, ElementsAre("1", "2"));
  EXPECT_THAT(read.cells[1].ranks, IsEmpty());
  EXPECT_EQ(read.reference_of.at("d"), "s");
  ASSERT_THAT(read.accepted, SizeIs(1));
  EXPECT_EQ(read.accepted[0].reason, "because");
  EXPECT_THAT(read.accepted[0].changes, ElementsAre("bits r: loss"));
}

TEST_F(TakeBaseline, TheRequestOfACellIsKeptBesideItsReferences) {
  verdict_.references[0].request = {{"seed", 1}, {"clip_norm", 2.5}, {"optimizer", {{"name", "adamw"}}}};
  const Baseline baseline = take();
  const Json json = to_json(baseline);
  write_json(folder_ / "b.json", json);

  EXPECT_FALSE(json["cells"][0]["request"].contains("seed")) << "as the reference's";
  EXPECT_EQ(json["cells"][0]["request"]["clip_norm"], "absent");
  EXPECT_EQ(read_baseline(folder_ / "b.json").cells[0].request, baseline.cells[0].request);
  EXPECT_EQ(baseline.references[0].request.at("optimizer/name"), "adamw");
}

TEST_F(TakeBaseline, AComparisonIsAcceptedByTheSchemaInTheDocsAndDamageIsNot) {
  if (!can_validate()) GTEST_SKIP() << no_validator;
  const fs::path schema = fs::path(PLUMBLINE_FIXTURES).parent_path() / "docs/schemas/baseline-comparison.schema.json";
  const Baseline before = take();
  tensor_row(cell_.candidate, synthetic_steps - 1, "parameter", "model.norm.weight").digest = other_digest;
  verdict_.machine["versions"]["compiler"] = "g++ 13";
  BaselineComparison found = compare_baselines(before, take());
  found.allowed = {ChangeKind::bits, ChangeKind::bytes};
  found.not_compared = {"r: is not in the baseline"};
  ASSERT_THAT(found.changes, SizeIs(1));
  ASSERT_THAT(found.environment, SizeIs(1));
  const Json whole = to_json(found);

  expect_by_schema(
      schema, {whole},
      with_each(whole, {[](Json& json) { json["more"] = 1; }, [](Json& json) { json["compared"].erase("runs"); },
                        [](Json& json) { json["changes"][0]["kind"] = "colour"; },
                        [](Json& json) { json["environment"][0].erase("now"); }}));
}

TEST_F(TakeBaseline, BitsOfAnotherGpuOrRuntimeAreNotCompared) {
  verdict_.machine["device"] = "cuda";
  verdict_.machine["machine"]["gpus"] = {"NVIDIA H200"};
  verdict_.machine["versions"]["cuda_runtime"] = "13.0";
  const Baseline before = take();
  tensor_row(cell_.candidate, synthetic_steps - 1, "parameter", "model.norm.weight").digest = other_digest;
  EXPECT_THAT(changes_since(before), SizeIs(1)) << "the same GPU: a change";

  verdict_.machine["machine"]["gpus"] = {"NVIDIA A100"};
  EXPECT_THAT(changes_since(before), IsEmpty());

  verdict_.machine["machine"]["gpus"] = {"NVIDIA H200"};
  verdict_.machine["versions"]["cuda_runtime"] = "12.8";
  EXPECT_THAT(changes_since(before), IsEmpty());
}

TEST(AskedDigest, WhatAnEarlierRequestDidNotHaveToSayChangesNothing) {
  const Json earlier = {{"seed", 1}, {"optimizer", {{"name", "sgd"}}}};
  Json now = {{"seed", 1},    {"first_step", 0},     {"optimizer", {{"name", "sgd"}, {"decay", "all"}}},
              {"threads", 1}, {"recompute", "none"}, {"evaluation", nullptr}};
  EXPECT_EQ(asked_digest(now), asked_digest(earlier));
  for (const auto& [key, value] : {std::pair{"/first_step", Json(2)},
                                   {"/threads", 2},
                                   {"/recompute", "layer"},
                                   {"/evaluation", 1},
                                   {"/optimizer/decay", "matrices"}}) {
    Json other = now;
    other[Json::json_pointer(key)] = value;
    EXPECT_NE(asked_digest(other), asked_digest(earlier)) << key;
  }
}

TEST_F(TakeBaseline, OneParameterOfTheLastStepIsSeen) {
  const Baseline before = take();
  tensor_row(cell_.candidate, synthetic_steps - 1, "parameter", "model.norm.weight").digest = other_digest;

  EXPECT_THAT(changes_since(before),
              ElementsAre("bits c: 1 of " + std::to_string(before.references[0].parameters.size()) +
                          " parameters at the end: model.norm.weight"));
}

TEST_F(TakeBaseline, ALossAndANormOfAnyStepAreSeen) {
  const Baseline before = take();
  for (RankRecord& rank : cell_.reference.ranks) rank.steps[0].loss = 4.5F;
  for (RankRecord& rank : cell_.candidate.ranks) rank.steps[1].gradient_norm = 9.0;

  const std::vector<std::string> changes = changes_since(before);

  EXPECT_THAT(changes, Contains(HasSubstr("bits r: loss of step 0: ")));
  EXPECT_THAT(changes, Contains(HasSubstr("bits c: gradient norm of step 1: ")));
}

TEST_F(TakeBaseline, ABytePerRankIsSeenInEachColumn) {
  const Baseline before = take();
  for (const auto column : {&MemoryRow::parameter_bytes, &MemoryRow::gradient_bytes, &MemoryRow::optimizer_bytes,
                            &MemoryRow::activation_peak_bytes}) {
    std::optional<std::int64_t>& bytes = cell_.candidate.ranks[1].memory[1].*column;
    ASSERT_TRUE(bytes);
    *bytes += 1000;

    EXPECT_THAT(changes_since(before), ElementsAre(HasSubstr("bytes c: rank 1: ")));

    *bytes -= 1000;
  }
  *cell_.candidate.ranks[0].memory[0].buffer_bytes += 1000;
  *cell_.candidate.ranks[0].memory[0].peak_bytes += 1000;
  EXPECT_THAT(changes_since(before), IsEmpty()) << "messages come when they come";
  *cell_.reference.ranks[0].memory[0].peak_bytes += 1000;
  EXPECT_THAT(changes_since(before), ElementsAre(HasSubstr("bytes r: rank 0: peak_bytes ")));
  *cell_.reference.ranks[0].memory[0].peak_bytes -= 1000;
  std::ranges::find(cell_.candidate.ranks[0].traffic, "send", &TrafficRow::side)->bytes += 1;
  EXPECT_THAT(changes_since(before), ElementsAre(HasSubstr("bytes c: rank 0: sent_bytes ")));
}

TEST_F(TakeBaseline, WhatDoesNotHoldOrIsNoSweepIsRefused) {
  take();
  EXPECT_THAT(error_of<InputError>([&] { take_baseline(folder_ / "nowhere", "b"); }), HasSubstr("verdict.json"));
  verdict_.holds = false;
  EXPECT_THAT(error_of<InputError>([&] { take(); }), HasSubstr("this sweep does not hold"));
  verdict_.holds = true;
  verdict_.cells[0].reference = "gone";
  EXPECT_THAT(error_of<InputError>([&] { take(); }), HasSubstr("names a reference that it does not hold: gone"));
}

TEST_F(TakeBaseline, ARedSweepIsComparedAsFarAsItHasRecordsAndSaysWhatIsRed) {
  const Baseline before = take();
  verdict_.holds = verdict_.cells[0].holds = false;
  verdict_.cells[0].first_divergence.emplace().words = "the loss differs";
  write_verdict(folder_ / "sweep/verdict.json", verdict_);

  BaselineComparison found = compare_baselines(before, take_for_comparison(folder_ / "sweep", "now"));
  EXPECT_THAT(found.red, ElementsAre(HasSubstr(": the loss differs")));
  EXPECT_FALSE(found.holds());
  EXPECT_EQ(found.runs, 2) << "its record is there";
  EXPECT_THAT(to_text(found), HasSubstr("DOES NOT HOLD, compared with baseline"));

  verdict_.cells[0].first_divergence.reset();
  verdict_.cells[0].missing = {{"gradients", 4, "a norm differs", false}};
  write_verdict(folder_ / "sweep/verdict.json", verdict_);
  found = compare_baselines(before, take_for_comparison(folder_ / "sweep", "now"));
  EXPECT_THAT(found.red,
              ElementsAre(HasSubstr("incomplete: gradients were not compared from step 4 on: a norm differs")));
  EXPECT_FALSE(found.holds());

  std::filesystem::remove_all(folder_ / "sweep/cells");
  found = compare_baselines(before, take_for_comparison(folder_ / "sweep", "now"));
  EXPECT_EQ(found.runs, 1);
  EXPECT_THAT(found.not_compared, ElementsAre(HasSubstr("does not hold, and left no readable record")));
}

TEST_F(TakeBaseline, ARecordWithoutDigestsIsRefused) {
  SyntheticPlan plan;
  plan.level = "summary";
  cell_.reference = synthetic_reference(plan);

  EXPECT_THAT(error_of<InputError>([&] { take(); }), HasSubstr("a baseline needs level full"));
}

TEST_F(TakeBaseline, ADamagedBaselineIsRefusedByItsKey) {
  const Json whole = to_json(take());
  const std::vector<std::pair<std::string, std::function<void(Json&)>>> damages = {
      {"schema", [](Json& json) { json["schema"] = "plumbline-baseline/9"; }},
      {"commit", [](Json& json) { json.erase("commit"); }},
      {"cells", [](Json& json) { json["cells"] = 3; }},
      {"code_path", [](Json& json) { json["code_path"] = 3; }},
      {"environment", [](Json& json) { json["environment"] = 3; }},
      {"ranks", [](Json& json) { json["cells"][0]["ranks"][0]["peak_bytes"] = -1; }},
      {"parameters", [](Json& json) { json["references"][0]["parameters"]["x"] = 1; }},
      {"reference", [](Json& json) { json["cells"][0].erase("reference"); }},
      {"names a reference that the file does not hold: gone",
       [](Json& json) { json["cells"][0]["reference"] = "gone"; }},
  };
  for (const auto& [key, damage] : damages) {
    Json json = whole;
    damage(json);
    write_json(folder_ / "b.json", json);

    EXPECT_THAT(error_of<InputError>([&] { read_baseline(folder_ / "b.json"); }), HasSubstr(key)) << key;
  }
}

}  // namespace
}  // namespace plumbline::testing
