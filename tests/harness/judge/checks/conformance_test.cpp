// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "schedule/lowering.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::HasSubstr;

TEST(Conformance, TwoActionsInAnotherOrder) {
  SyntheticCell cell;
  auto &first = action_row(cell.candidate, 1, "0F0"), &second = action_row(cell.candidate, 1, "0F1");
  std::swap(first.action, second.action);
  std::swap(first.microbatch, second.microbatch);

  expect_fails(cell, "conformance", {.step = 1, .rank = 0, .expected = "0F0"});
}

TEST(Conformance, EachActionOutsideTheListIsReported) {
  expect_each_fails("conformance", {{"no update",
                                     [](auto& cell) {
                                       std::erase_if(cell.candidate.ranks[1].actions, [](const auto& row) {
                                         return row.step == 0 && row.action == "1STEP";
                                       });
                                     },
                                     {.expected = "1STEP"}},
                                    {"a text that is no action",
                                     [](auto& cell) { action_row(cell.candidate, 1, "0F2").action = "0G2"; },
                                     {.step = 1, .item = "0G2"}}});
  expect_each_red({"conformance"},
                  {{"communication at world size 1",
                    [](auto& cell) {
                      auto row = action_row(cell.candidate, 0, "0STEP");
                      row.index += 1;
                      row.action = "0SEND_F0", row.microbatch = 0;
                      cell.candidate.ranks[0].actions.push_back(row);
                    }}},
                  one_stage());
}

TEST(Conformance, CellsThatSayAnotherStageOrMicrobatchThanTheirAction) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell;
    action_row(of_candidate ? cell.candidate : cell.reference, 1, "0F2").microbatch = 3;

    expect_fails(cell, "conformance",
                 {.step = 1,
                  .item = "0F2",
                  .expected = "its own stage and microbatch in the other fields",
                  .words = of_candidate ? "candidate" : "reference"});
  }
}

TEST(Conformance, AnotherScheduleUnderTheRequestedName) {
  SyntheticCell cell({.schedule = "afab"});
  cell.candidate.manifest["schedule"]["name"] = "1f1b";
  expect_red(cell, {"conformance"}, {.words = "not the list of 1f1b"});
}

TEST(Conformance, AnotherListThanTheRequestedFile) {
  SyntheticCell cell;
  cell.plan.schedule = "mine.csv";
  cell.plan.schedule_csv = to_csv(make_schedule("afab", 2, 4));

  expect_red(cell, {"conformance"}, {.words = "this is not the digest of the file mine.csv"});
}

TEST(Conformance, TheReferencesListIsOneMicrobatchAfterTheOther) {
  SyntheticCell cell;
  cell.reference.schedule_csv = "0F0,0F1,0B0,0B1,0F2,0B2,0F3,0B3,0F4,0B4\n";
  cell.reference.manifest["schedule"]["digest"] = hash_hex(cell.reference.schedule_csv);
  EXPECT_THAT(result_of(cell.judge(), "conformance").reason,
              HasSubstr("does not compute one microbatch after the other"));
}

/// Gives the candidate another list, and its manifest the digest of it.
void give_list(SyntheticCell& cell, const std::string& csv) {
  cell.candidate.schedule_csv = csv;
  cell.candidate.manifest["schedule"]["digest"] = hash_hex(csv);
}

TEST(Conformance, AListOfAnotherNumberOfMicrobatchesOrRanks) {
  SyntheticCell microbatches, ranks;
  give_list(microbatches, to_csv(make_schedule("1f1b", 2, 4)));
  give_list(ranks, to_csv(make_schedule("1f1b", 3, synthetic_microbatches)));

  expect_fails(microbatches, "conformance", {.expected = "5 microbatches", .got = "4"});
  expect_fails(ranks, "conformance", {.expected = "2 rows", .got = "3"});
}

TEST(Conformance, AListThatCannotBeFollowed) {
  SyntheticCell cell;
  give_list(cell, "0F0,0B0\n1F0,1B0,1F0\n");

  expect_fails(cell, "conformance", {.item = "schedule.csv", .words = "1F0"});
}

// Another program's list may be of computations alone. One that has its messages too is held to them.
TEST(Conformance, ExternalMessagesMustMatchAListThatHasThem) {
  const Schedule list = make_schedule("1f1b", 2, synthetic_microbatches);
  for (const bool with_messages : {true, false}) {
    SyntheticCell cell;
    cell.candidate.manifest["role"] = "external";
    give_list(cell, to_csv(with_messages ? lower(list, /*tied=*/true) : list));
    ActionRow &one = action_row(cell.candidate, 1, "0SEND_F3"), &other = action_row(cell.candidate, 1, "0RECV_B2");
    std::swap(one.action, other.action);
    std::swap(one.microbatch, other.microbatch);

    const auto conformance = expect_outcome(cell, "conformance", with_messages ? Outcome::differs : Outcome::holds);
    EXPECT_EQ(conformance.first_divergence.value_or(Finding{}).expected, with_messages ? "0SEND_F3" : "");
  }
}

TEST(Conformance, ActionsAreTakenInTheOrderOfTheirIndex) {
  SyntheticCell cell;
  std::swap(cell.candidate.ranks[0].actions[1], cell.candidate.ranks[0].actions[4]);
  EXPECT_EQ(result_of(cell.judge(), "conformance").outcome, Outcome::holds);
}

TEST(Conformance, TheOrderOfSummingIsThatOfTheList) {
  SyntheticCell cell;
  for (SyntheticRun* run : {&cell.reference, &cell.candidate}) {
    run->manifest["schedule"]["accumulation"] = "listed";
    run->manifest["schedule"]["accumulation_digest"] = other_digest;
  }
  EXPECT_THAT(
      result_of(cell.judge(), "conformance").reason,
      HasSubstr("not the order of the list's backward passes (expected ascending, got listed, " + other_digest));

  SyntheticCell backwards;
  std::string csv = to_csv(make_schedule("afab", 2, synthetic_microbatches));
  for (const std::string stage : {"0B", "1B"})
    csv.replace(csv.find(stage + "0," + stage + "1"), 7, stage + "1," + stage + "0");
  give_list(backwards, csv);
  backwards.candidate.manifest["schedule"]["name"] = "mine";
  EXPECT_THAT(result_of(backwards.judge(), "conformance").reason, HasSubstr("(expected listed, "));
}

}  // namespace
}  // namespace plumbline::testing
