// SPDX-License-Identifier: BSD-3-Clause
// Single keys of verdict.json, written and read back, and what its counts mean.
#include <gmock/gmock.h>

#include <limits>

#include "record/finding.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CheckResult check_of(Outcome outcome, std::int64_t tensors) {
  CheckResult check;
  check.name = "parameters";
  check.outcome = outcome;
  check.compared = {{"tensors", tensors}};
  check.inspected = {{"ranks", 1}};
  return check;
}

CellVerdict cell_of(bool holds, const std::optional<SecondRun>& second) {
  CellVerdict cell;
  cell.holds = holds;
  cell.second_run = second;
  cell.checks = {check_of(holds ? Outcome::holds : Outcome::differs, 10), check_of(Outcome::incomplete, 0)};
  cell.checks[1].name = "memory";
  return cell;
}

/// A case that holds, one whose second run holds, one that failed again.
Verdict three_cells() {
  Verdict verdict;
  verdict.cells = {cell_of(true, std::nullopt), cell_of(false, SecondRun{SecondRun::Outcome::holds, ""}),
                   cell_of(false, SecondRun{SecondRun::Outcome::fails_again, ""})};
  ReferenceVerdict reference;
  reference.checks = {check_of(Outcome::holds, 5)};
  verdict.references = {reference};
  return verdict;
}

TEST(VerdictCounts, CoverAllCasesAndReferencesOnceEach) {
  Verdict verdict = three_cells();
  verdict.not_run = {"a: stopped"};
  for (int again = 0; again < 2; ++again) {
    sum_up(verdict);

    EXPECT_EQ(verdict.counts.at("cases"), 3);
    EXPECT_EQ(verdict.counts.at("cases_holding"), 1);
    EXPECT_EQ(verdict.counts.at("cases_unstable"), 1);
    EXPECT_EQ(verdict.counts.at("cases_not_run"), 1);
    EXPECT_EQ(verdict.counts.at("claims"), 7);
    EXPECT_EQ(verdict.counts.at("claims_holds"), 2);
    EXPECT_EQ(verdict.counts.at("claims_differs"), 2);
    EXPECT_EQ(verdict.counts.at("claims_incomplete"), 3);
    EXPECT_EQ(verdict.compared, (Counts{{"tensors", 35}}));
    EXPECT_EQ(verdict.inspected, (Counts{{"ranks", 7}}));
  }
  const Json json = to_json(verdict);
  EXPECT_EQ(json.at("counts").at("cases"), 3);
  EXPECT_EQ(json.at("compared"), Json({{"tensors", 35}}));
  EXPECT_EQ(json.at("claims")[1].at("compared"), Json({{"tensors", 10}}));
}

TEST(VerdictCounts, AreAnEmptyObjectWithoutCounts) {
  CellVerdict cell = cell_of(true, std::nullopt);
  cell.checks[0].compared.clear();
  cell.checks[0].inspected.clear();
  Verdict verdict;
  verdict.cells = {cell};

  const Json json = to_json(verdict);

  EXPECT_EQ(json.at("counts"), Json::object());
  EXPECT_EQ(json.at("claims")[0].at("compared"), Json::object());
  EXPECT_EQ(json.at("claims")[0].at("inspected"), Json::object());
}

TEST(VerdictJson, WritesNonFiniteNumbersAsNullOrOmitsThem) {
  Verdict verdict;
  verdict.cells = {cell_of(true, std::nullopt)};
  verdict.cells[0].seconds = std::numeric_limits<double>::infinity();
  verdict.cells[0].checks[0].margin = std::numeric_limits<double>::quiet_NaN();
  verdict.cells[0].checks[1].margin = 0.5;

  const Json json = to_json(verdict);

  EXPECT_EQ(json.at("cases")[0].at("seconds"), 0.0);
  EXPECT_EQ(json.at("claims")[0].at("margin"), Json(nullptr));
  EXPECT_EQ(json.at("claims")[1].at("margin"), 0.5);
}

TEST(VerdictJson, RoundTripsEachPlaceOfADivergence) {
  const TemporaryFolder folder;
  Finding where;
  where.claim = "parameters";
  where.step = 4;
  where.microbatch = 5;
  where.stage = 6;
  where.rank = 7;
  where.replica = 1;
  Verdict verdict;
  verdict.cells = {cell_of(false, std::nullopt), cell_of(false, std::nullopt)};
  verdict.cells[0].id = "a";
  verdict.cells[1].id = "b";
  verdict.cells[0].first_divergence = where;
  verdict.cells[1].first_divergence = Finding{.claim = "parameters"};
  write_verdict(folder / "verdict.json", verdict);

  const Verdict read = read_verdict(folder / "verdict.json");

  const Finding& found = read.cells[0].first_divergence.value();
  EXPECT_EQ(found.step, 4);
  EXPECT_EQ(found.microbatch, 5);
  EXPECT_EQ(found.stage, 6);
  EXPECT_EQ(found.rank, 7);
  EXPECT_EQ(found.replica, 1);
  const Finding& nowhere = read.cells[1].first_divergence.value();
  EXPECT_FALSE(nowhere.microbatch || nowhere.stage || nowhere.rank || nowhere.replica);
  EXPECT_EQ(to_json(verdict).at("findings")[1].at("rank"), Json(nullptr));
}

TEST(Finding, SentenceHasAllKnownParts) {
  const Finding all = {.step = 2,
                       .microbatch = 1,
                       .stage = 3,
                       .rank = 0,
                       .direction = "forward",
                       .source = "reference",
                       .item = "layers.3",
                       .what = "forward boundary layers.3",
                       .expected = "a",
                       .got = "b",
                       .why = "the bits differ"};
  EXPECT_EQ(words_of(all),
            "reference: step 2, microbatch 1, stage 3, rank 0, forward boundary layers.3: the bits differ "
            "(expected a, got b)");
  EXPECT_EQ(place_text(all), "step 2, microbatch 1, stage 3, rank 0, forward, layers.3");
}

TEST(Finding, SentenceOmitsUnknownParts) {
  const Finding start = {.step = -1, .item = "model.norm.weight", .got = "none"};
  EXPECT_EQ(words_of(start), "the start, model.norm.weight (expected , got none)");
  EXPECT_EQ(place_text(start), "the start, model.norm.weight");
  EXPECT_EQ(words_of({.item = "run", .why = "it ended"}), "step 0, run: it ended");
  EXPECT_EQ(place_text({}), "step 0");
  EXPECT_EQ(step_words(2, 3), "step 2, microbatch 3");
}

}  // namespace
}  // namespace plumbline::testing
