// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "harness/baseline/baseline_comparison.hpp"
#include "support/error.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

RunBaseline reference() {
  RunBaseline run;
  run.id = "tiny-sgd";
  run.asked = "a";
  run.request = {{"optimizer/learning_rate", "0.001"}, {"steps", "2"}};
  run.outcomes = {{"bench", "holds"}};
  run.losses = {"6", "5.5"};
  run.gradient_norms = {"1", "1.25"};
  run.parameters = {{"lm_head.weight", "d1"}, {"model.norm.weight", "d2"}};
  run.saved_bytes = {{"embed_tokens", 0}, {"layers.0", 4096}};
  run.ranks = {{0, {{"peak_bytes", 1000}}, "0B1"}};
  return run;
}

RunBaseline cell() {
  RunBaseline run;
  run.id = "tiny-sgd-1f1b-w2";
  run.asked = "b";
  run.outcomes = {{"loss", "holds"}, {"memory", "holds"}, {"repeatability", "not applicable"}};
  run.ranks = {{0, {{"activation_peak_bytes", 600}, {"sent_bytes", 64}}, "0F1"},
               {1, {{"activation_peak_bytes", 300}}, "1B0"}};
  return run;
}

Baseline baseline() {
  Baseline made;
  made.name = "release";
  made.sweep = "tiny";
  made.commit = "aaa";
  made.code_path = {{"aten_capability", "AVX512"}};
  made.environment = {{"versions", {{"libtorch", "2.11.0"}, {"commit", "aaa"}}}};
  made.references = {reference()};
  made.cells = {cell()};
  made.reference_of = {{"tiny-sgd-1f1b-w2", "tiny-sgd"}};
  return made;
}

BaselineComparison after(const std::function<void(Baseline&)>& change) {
  Baseline now = baseline();
  now.commit = "bbb";
  change(now);
  return compare_baselines(baseline(), now);
}

std::vector<std::string> told(const BaselineComparison& comparison) {
  std::vector<std::string> lines;
  for (const BaselineChange& change : comparison.changes)
    lines.push_back(to_text(change.kind) + " " + change.where + ": " + change.words);
  return lines;
}

TEST(CompareBaselines, EqualOnesHoldAndSayWhatWasCompared) {
  const BaselineComparison found = after([](Baseline&) {});

  EXPECT_THAT(found.changes, IsEmpty());
  EXPECT_TRUE(found.holds());
  EXPECT_EQ(found.runs, 2);
  EXPECT_EQ(found.losses, 4) << "the cell has its reference's";
  EXPECT_EQ(found.parameters, 4);
  EXPECT_EQ(found.byte_counts, 6);
  EXPECT_THAT(to_text(found), StartsWith("EQUAL to baseline release, commits aaa..bbb\n"));
}

TEST(CompareBaselines, AChangedReferenceIsToldWithTheFirstStepAndItsCellsWithIt) {
  const BaselineComparison found = after([](Baseline& now) {
    now.references[0].losses[1] = "5.25";
    now.references[0].parameters["model.norm.weight"] = "e2";
  });

  EXPECT_THAT(told(found), Contains("bits tiny-sgd: loss of step 1: 5.5 before, 5.25 now (-0.25); 1 of 2 parameters at "
                                    "the end: model.norm.weight"));
  EXPECT_THAT(told(found), Contains(HasSubstr("bits tiny-sgd-1f1b-w2: loss of step 1")));
  EXPECT_FALSE(found.holds());
}

TEST(CompareBaselines, ACellThatLeavesItsReferenceIsAChangeOfItsOwn) {
  const BaselineComparison found = after([](Baseline& now) {
    now.cells[0].parameters = now.references[0].parameters;
    now.cells[0].parameters["lm_head.weight"] = "e1";
  });

  EXPECT_THAT(told(found), ElementsAre("bits tiny-sgd-1f1b-w2: 1 of 2 parameters at the end: lm_head.weight"));
}

TEST(CompareBaselines, EachNumberOfBytesIsHeldByRankActionAndUnit) {
  const BaselineComparison found = after([](Baseline& now) {
    now.references[0].saved_bytes["layers.0"] = 4352;
    now.cells[0].ranks[0].bytes["activation_peak_bytes"] = 856;
    now.cells[0].ranks[0].peak_action = "0B0";
    now.cells[0].ranks[0].bytes.erase("sent_bytes");
  });

  EXPECT_THAT(told(found), ::testing::UnorderedElementsAre(
                               "bytes tiny-sgd: kept for the backward pass by layers.0 4096 before, 4352 now (+256)",
                               "bytes tiny-sgd-1f1b-w2: rank 0: activation_peak_bytes 600 before, 856 now (+256), the "
                               "peak at action 0F1, now at 0B0",
                               "bytes tiny-sgd-1f1b-w2: rank 0: sent_bytes 64 before, 0 now (-64)"));
}

TEST(CompareBaselines, WhatIsNotRunOrNotShownAnyMoreIsAChange) {
  EXPECT_THAT(told(after([](Baseline& now) { now.cells.clear(); })),
              ElementsAre("coverage tiny-sgd-1f1b-w2: was run before but not now"));
  EXPECT_THAT(told(after([](Baseline& now) { now.cells[0].outcomes["memory"] = "not run"; })),
              ElementsAre("coverage tiny-sgd-1f1b-w2: check memory: held before, not run now"));
  EXPECT_THAT(told(after([](Baseline& now) { now.cells[0].outcomes.erase("loss"); })),
              ElementsAre("coverage tiny-sgd-1f1b-w2: check loss: held before, not there now"));
  EXPECT_THAT(told(after([](Baseline& now) { now.cells[0].ranks.pop_back(); })),
              ElementsAre("coverage tiny-sgd-1f1b-w2: has a different number of ranks"));
}

TEST(CompareBaselines, BitsOfAnotherCodePathAreNotComparedAndBytesAre) {
  const BaselineComparison found = after([](Baseline& now) {
    now.code_path["aten_capability"] = "AVX2";
    now.environment["versions"]["libtorch"] = "2.12.0";
    now.references[0].losses[0] = "7";
    now.cells[0].ranks[1].bytes["activation_peak_bytes"] = 301;
  });

  EXPECT_EQ(found.losses + found.parameters, 0);
  EXPECT_THAT(found.changes, SizeIs(1));
  EXPECT_THAT(found.not_compared, Contains(HasSubstr("bits: ")));
  EXPECT_THAT(to_text(found), HasSubstr("versions/libtorch: \"2.11.0\" before, \"2.12.0\" now"));
}

TEST(CompareBaselines, AnotherRunUnderTheSameNameIsNotCompared) {
  const BaselineComparison found = after([](Baseline& now) {
    now.references[0].asked = "x";
    now.cells[0].asked = "y";
    now.references[0].losses[0] = "7";
  });

  EXPECT_TRUE(found.nothing());
  EXPECT_THAT(found.changes, IsEmpty());
  EXPECT_THAT(found.not_compared, SizeIs(2));
  EXPECT_THAT(to_text(found), StartsWith("NOTHING COMPARABLE"));
}

TEST(CompareBaselines, OfAnotherRequestTheKeysThatDifferAreNamed) {
  const BaselineComparison found = after([](Baseline& now) {
    now.references[0].asked = "x";
    now.references[0].request = {{"optimizer/learning_rate", "0.002"}, {"clip_norm", "1"}, {"steps", "2"}};
  });

  EXPECT_THAT(found.not_compared, Contains("tiny-sgd: another run was requested under this name: clip_norm absent "
                                           "before, 1 now; optimizer/learning_rate 0.001 before, 0.002 now"));
}

TEST(CompareBaselines, OfManyKeysTheFirstAreNamed) {
  const BaselineComparison found = after([](Baseline& now) {
    now.references[0].asked = "x";
    for (const char* key : {"a", "b", "c", "d", "e", "f", "g", "h"}) now.references[0].request[key] = "1";
  });

  EXPECT_THAT(found.not_compared, Contains(HasSubstr("f absent before, 1 now; and 2 other keys")));
}

TEST(CompareBaselines, WhereNobodySaidWhatWasAskedNothingIsCompared) {
  const BaselineComparison found = after([](Baseline& now) { now.cells[0].asked.clear(); });

  EXPECT_THAT(found.not_compared, Contains(HasSubstr("tiny-sgd-1f1b-w2: its verdict lacks the request")));
  EXPECT_EQ(found.runs, 1);
}

TEST(CompareBaselines, AnAllowedKindHoldsWithItsReasonAndNoOther) {
  const auto both = [](Baseline& now) {
    now.references[0].losses[0] = "7";
    now.cells[0].ranks[1].bytes["activation_peak_bytes"] = 301;
  };
  BaselineComparison found = after(both);
  found.allowed = {ChangeKind::bits};
  found.reason = "LibTorch 2.12";
  EXPECT_FALSE(found.holds());
  found.allowed.insert(ChangeKind::bytes);

  EXPECT_TRUE(found.holds());
  EXPECT_THAT(to_text(found), AllOf(HasSubstr("CHANGED AS ALLOWED"), HasSubstr("bits (allowed: LibTorch 2.12):")));
  EXPECT_THROW(parse_change_kind("speed"), InputError);
}

// If only the first run of a baseline were compared, errors in the others would pass.
TEST(CompareBaselines, EveryRunIsCompared) {
  Baseline before = baseline(), now = baseline();
  for (Baseline* each : {&before, &now}) {
    each->references.push_back(reference());
    each->references.back().id = "tiny-adamw";
    each->cells.push_back(cell());
    each->cells.back().id = "tiny-adamw-1f1b-w2";
    each->reference_of["tiny-adamw-1f1b-w2"] = "tiny-adamw";
  }
  now.references[1].gradient_norms[0] = "2";

  const BaselineComparison found = compare_baselines(before, now);

  EXPECT_EQ(found.runs, 4);
  EXPECT_THAT(told(found), ElementsAre("bits tiny-adamw: gradient norm of step 0: 1 before, 2 now (1)",
                                       "bits tiny-adamw-1f1b-w2: gradient norm of step 0: 1 before, 2 now (1)"));
}

TEST(CompareBaselines, StepsThatAreNotThereAnyMoreAreAChange) {
  const BaselineComparison found = after([](Baseline& now) { now.references[0].losses.pop_back(); });

  EXPECT_THAT(told(found), Contains("bits tiny-sgd: 2 steps with a loss before, 1 now"));
}

TEST(CompareBaselines, LossesThatDifferAreToldWithTheirDifferenceWhereThatIsANumber) {
  const std::vector<std::array<std::string, 3>> losses = {{"5.5", "5.25", "5.5 before, 5.25 now (-0.25)"},
                                                          {"5.5", "nan", "5.5 before, nan now"},
                                                          {"inf", "5.5", "inf before, 5.5 now"},
                                                          {"0", "5.5", "0 before, 5.5 now"}};
  for (const auto& [earlier, later, words] : losses) {
    Baseline before = baseline(), now = baseline();
    before.references[0].losses[1] = earlier;
    now.references[0].losses[1] = later;
    EXPECT_THAT(told(compare_baselines(before, now)), Contains("bits tiny-sgd: loss of step 1: " + words));
  }
}

TEST(CompareBaselines, ParametersThatDifferAreNamedAndCounted) {
  struct Case {
    std::map<std::string, std::string> before, now;
    std::string words;
  };
  const std::vector<Case> cases = {{{{"a", "1"}, {"b", "2"}}, {{"a", "1"}}, "1 of 2 parameters at the end: b"},
                                   {{{"a", "1"}}, {{"a", "1"}, {"b", "2"}}, "1 of 2 parameters at the end: b"},
                                   {{{"a", "1"}}, {{"a", "2"}}, "1 of 1 parameter at the end: a"},
                                   {{{"a", "1"}, {"b", "1"}, {"c", "1"}},
                                    {{"a", "2"}, {"b", "2"}, {"c", "2"}},
                                    "3 of 3 parameters at the end: a, b, c"},
                                   {{{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}},
                                    {{"a", "2"}, {"b", "2"}, {"c", "2"}, {"d", "2"}},
                                    "4 of 4 parameters at the end: a, b, c, ..."}};
  for (const auto& [earlier, later, words] : cases) {
    Baseline before = baseline(), now = baseline();
    before.references[0].parameters = earlier;
    now.references[0].parameters = later;
    EXPECT_THAT(told(compare_baselines(before, now)), Contains("bits tiny-sgd: " + words));
  }
}

TEST(CompareBaselines, AUnitThatKeepsNothingAnyMoreAndARankMoreAreChanges) {
  EXPECT_THAT(told(after([](Baseline& now) { now.references[0].saved_bytes.erase("layers.0"); })),
              ElementsAre("bytes tiny-sgd: kept for the backward pass by layers.0 4096 before, 0 now (-4096)"));
  EXPECT_THAT(told(after([](Baseline& now) {
                now.cells[0].ranks.push_back({2, {}, ""});
              })),
              ElementsAre("coverage tiny-sgd-1f1b-w2: has a different number of ranks"));
}

TEST(CompareBaselines, APeakIsToldWithItsActionAndAnotherOnlyWhereItIs) {
  const auto more = [](Baseline& now) { now.references[0].ranks[0].bytes["peak_bytes"] = 1001; };
  EXPECT_THAT(told(after(more)), ElementsAre("bytes tiny-sgd: rank 0: peak_bytes 1000 before, 1001 now (+1), "
                                             "the peak at action 0B1"));

  Baseline before = baseline();
  before.references[0].ranks[0].peak_action = "";
  Baseline now = before;
  more(now);
  EXPECT_THAT(told(compare_baselines(before, now)), ElementsAre(EndsWith("the peak at action ?")));
}

TEST(CompareBaselines, ARunThatIsNewOrOfWhichNothingWasAskedBeforeIsNotCompared) {
  const BaselineComparison found = after([](Baseline& now) {
    now.references.push_back(reference());
    now.references.back().id = "new";
  });
  EXPECT_THAT(found.not_compared, Contains("new: is not in the baseline"));

  Baseline before = baseline();
  before.references[0].asked.clear();
  EXPECT_THAT(compare_baselines(before, baseline()).not_compared,
              Contains(HasSubstr("tiny-sgd: its verdict lacks the request")));
}

TEST(CompareBaselines, OfARequestThatWasNotKeptNoKeysAreNamed) {
  for (const bool earlier : {true, false}) {
    Baseline before = baseline(), now = baseline();
    now.references[0].asked = "x";
    (earlier ? before : now).references[0].request.clear();

    EXPECT_THAT(compare_baselines(before, now).not_compared,
                Contains("tiny-sgd: another run was requested under this name"));
  }
}

TEST(CompareBaselines, WhatDiffersInTheEnvironmentIsToldByItsKeyAndTheCommitIsNot) {
  const BaselineComparison found = after([](Baseline& now) {
    now.sweep = "other";
    now.environment = {{"versions", {{"commit", "bbb"}, {"compiler", "g++"}}}, {"device", "cpu"}};
  });

  std::vector<std::string> lines;
  for (const auto& each : found.environment) lines.push_back(each.key + " " + each.before + " " + each.now);
  EXPECT_THAT(
      lines, ElementsAre("device null \"cpu\"", "versions/compiler null \"g++\"", "versions/libtorch \"2.11.0\" null"));
  EXPECT_EQ(found.sweep, "other");
}

BaselineComparison baseline_comparison() {
  BaselineComparison found;
  found.name = "release";
  found.sweep = "quick";
  found.commit_before = "aaa";
  found.commit_now = "bbb";
  found.runs = 2;
  found.losses = 3;
  found.parameters = 4;
  found.byte_counts = 5;
  found.changes = {{ChangeKind::bits, "cell-2", "loss 1 before, 2 now"},
                   {ChangeKind::coverage, "cell-3", "is not run"},
                   {ChangeKind::bytes, "cell-4", "more"},
                   {ChangeKind::bits, "cell-5", "norm"}};
  found.environment = {{"versions/libtorch", "2.10", "2.11"}};
  found.not_compared = {"cell-6: is new"};
  found.allowed = {ChangeKind::bits, ChangeKind::coverage};
  found.reason = "another optimiser";
  return found;
}

TEST(ComparisonText, TellsKindsInOrderWithWhatIsAllowed) {
  EXPECT_EQ(to_text(baseline_comparison()),
            "CHANGED since baseline release, commits aaa..bbb\n"
            "compared: 2 runs, 3 losses, 4 parameters at the end, 5 numbers of bytes\n"
            "bits (allowed: another optimiser):\n  cell-2: loss 1 before, 2 now\n  cell-5: norm\n"
            "bytes:\n  cell-4: more\n"
            "coverage (allowed: another optimiser):\n  cell-3: is not run\n"
            "what differs in machine, versions and environment:\n  versions/libtorch: 2.10 before, 2.11 now\n"
            "not compared:\n  cell-6: is new\n");
}

TEST(ComparisonText, TheFirstLineSaysWhatHolds) {
  const auto first_line = [](const BaselineComparison& found) {
    const std::string text = to_text(found);
    return text.substr(0, text.find('\n'));
  };
  BaselineComparison found = baseline_comparison();
  found.allowed = {ChangeKind::bits, ChangeKind::bytes, ChangeKind::coverage};
  EXPECT_EQ(first_line(found), "CHANGED AS ALLOWED since baseline release, commits aaa..bbb");
  found.changes.clear();
  found.commit_now = "";
  EXPECT_EQ(first_line(found), "EQUAL to baseline release") << "of one commit alone nothing is told";
  found.commit_now = "bbb";
  found.commit_before = "";
  EXPECT_EQ(first_line(found), "EQUAL to baseline release");
  found.losses = found.parameters = found.byte_counts = 0;
  EXPECT_EQ(first_line(found), "NOTHING COMPARABLE with baseline release");
  EXPECT_EQ(to_json(found).at("holds"), false) << "of nothing nothing holds";
}

TEST(ComparisonText, ForProgramsEachKeyIsItsOwn) {
  EXPECT_EQ(to_json(baseline_comparison()), Json::parse(R"({
    "schema": "plumbline-baseline-comparison/1", "baseline": "release", "sweep": "quick", "holds": false,
    "commit_before": "aaa", "commit_now": "bbb",
    "compared": {"runs": 2, "losses": 3, "parameters": 4, "byte_counts": 5},
    "changes": [{"kind": "bits", "where": "cell-2", "words": "loss 1 before, 2 now"},
                {"kind": "coverage", "where": "cell-3", "words": "is not run"},
                {"kind": "bytes", "where": "cell-4", "words": "more"},
                {"kind": "bits", "where": "cell-5", "words": "norm"}],
    "environment": [{"key": "versions/libtorch", "before": "2.10", "now": "2.11"}],
    "not_compared": ["cell-6: is new"], "red": [], "allowed": ["bits", "coverage"], "reason": "another optimiser"})"));
}

}  // namespace
}  // namespace plumbline::testing
