// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/verifier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "schedule/lowering.hpp"
#include "support/error.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Schedule two_ranks(const std::string& rank0, const std::string& rank1, std::int32_t microbatches = 2) {
  return {"test", {2, 1}, microbatches, {actions(rank0), actions(rank1)}};
}

std::string complete_fault(const std::string& rank0, const std::string& rank1) {
  return message_of<InputError>([&] { verify_complete(two_ranks(rank0, rank1)); });
}

std::string first_fault(const std::string& rank0, const std::string& rank1) {
  return to_text(verify(two_ranks(rank0, rank1)).at(0));
}

constexpr auto good0 = "0F0 0F1 0B0 0B1";
constexpr auto good1 = "1F0 1B0 1F1 1B1";

TEST(VerifyComplete, AcceptsFullAndSplitBackward) {
  EXPECT_NO_THROW(verify_complete(two_ranks(good0, good1)));
  EXPECT_NO_THROW(verify_complete(two_ranks("0F0 0F1 0I0 0W0 0I1 0W1", good1)));
}

TEST(VerifyComplete, NamesRankPositionActionAndRemedy) {
  EXPECT_THAT(complete_fault("0F0 0F1 0B0", good1),
              AllOf(HasSubstr("rank 0, position 3, 0B1"), HasSubstr("missing from the list")));
  EXPECT_THAT(complete_fault("0F0 0B0 0B1", good1), HasSubstr("rank 0, position 2, 0B1: its forward has not run"));
  EXPECT_THAT(complete_fault("0F0 0F0 0F1 0B0 0B1", good1),
              AllOf(HasSubstr("rank 0, position 1, 0F0"), HasSubstr("remove one")));
  EXPECT_THAT(complete_fault(good0, "1F0 1B0 1B0 1F1 1B1"), HasSubstr("rank 1, position 2, 1B0"));
  EXPECT_THAT(complete_fault(good0, "1F0 1B0 1F1 1B1 1F2"), HasSubstr("only the microbatches 0 to 1"));
  EXPECT_THAT(complete_fault("0F0 0F1 0B0 0B1 2F0", good1), HasSubstr("only the stages 0 to 1"));
  EXPECT_THAT(complete_fault("0F0 1F1 0B0 0B1", good1), HasSubstr("stage 1 is on rank 1"));
  EXPECT_THAT(complete_fault("0F0 0SEND_F0 0F1 0B0 0B1", good1), HasSubstr("lowering adds the messages"));
  EXPECT_THAT(complete_fault("0F0 0F1 0I0 0B1", good1), AllOf(HasSubstr("0W0"), HasSubstr("missing from the list")));
  EXPECT_THAT(complete_fault("0F0 0F1 0W0 0I0 0B1", good1), HasSubstr("put I before W"));
  EXPECT_THAT(complete_fault("0F0 0F1 0B0 0W0 0B1", good1), HasSubstr("the weight gradient was already computed"));
}

TEST(VerifyComplete, ReportsEveryFault) {
  const auto findings = find_incomplete({"test", {1, 1}, 1, {actions("0F0 0W0 0B0")}});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(to_text(findings[0]), HasSubstr("put I before W"));
  EXPECT_THAT(to_text(findings[1]), HasSubstr("position 2, 0B0: the weight gradient was already computed"));
}

TEST(VerifyComplete, RefusesImpossibleSizes) {
  EXPECT_THAT(message_of<InputError>([] {
                verify_complete({"test", {2, 1}, 1, {actions("0F0 0B0")}});
              }),
              HasSubstr("lists for 1 ranks and is placed on 2"));
  EXPECT_THAT(message_of<InputError>([] { verify_complete({"test", {0, 1}, 1, {}}); }), HasSubstr("at least 1"));
}

constexpr auto lowered0 = "0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 0STEP";
constexpr auto lowered1 = "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1 1STEP";

TEST(Verify, AcceptsLoweredLists) {
  EXPECT_TRUE(verify(two_ranks(lowered0, lowered1)).empty());
}

// A posted RECV holds up no SEND: rank 1 computes its B0 before it receives F1.
TEST(Verify, AcceptsLateReceives) {
  EXPECT_TRUE(verify(two_ranks(lowered0, "1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F1 1F1 1B1 1SEND_B1 1STEP")).empty());
}

/// Rank 0 needs its first gradient before it sends the second microbatch; the last rank needs both before it sends one.
TEST(Verify, SpellsOutACycle) {
  EXPECT_THAT(first_fault("0F0 0SEND_F0 0RECV_B0 0B0 0F1 0SEND_F1 0RECV_B1 0B1 0STEP",
                          "1RECV_F0 1F0 1RECV_F1 1F1 1B0 1SEND_B0 1B1 1SEND_B1 1STEP"),
              HasSubstr("waits forever: 0B0 (rank 0, position 3) needs 1SEND_B0, before which rank 1 must get past 1F1 "
                        "(rank 1, position 3), which needs 0SEND_F1, before which rank 0 must get past 0B0 (rank 0, "
                        "position 3);"));
  const Schedule three{
      "three",
      {3, 1},
      2,
      {actions("0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 0STEP"),
       actions("1RECV_F0 1F0 1SEND_F0 1RECV_B0 1B0 1SEND_B0 1RECV_F1 1F1 1SEND_F1 1RECV_B1 1B1 1SEND_B1 1STEP"),
       actions("2RECV_F0 2F0 2RECV_F1 2F1 2B0 2SEND_B0 2B1 2SEND_B1 2STEP")}};
  EXPECT_THAT(to_text(verify(three).at(0)), AllOf(HasSubstr("1B0"), ::testing::Not(HasSubstr("rank 0"))))
      << "rank 0 waits for the cycle and is not in it";
}

TEST(Verify, NamesEachFaultWithItsPlace) {
  struct Case {
    const char *rank0, *rank1;
    std::vector<std::string> words;
  };
  const std::vector<Case> cases = {
      // Crossed order in a channel.
      {"0F0 0F1 0SEND_F1 0SEND_F0 0RECV_B0 0B0 0RECV_B1 0B1", lowered1, {"0SEND_F1", "1RECV_F0", "same order"}},
      // A missing or extra end.
      {"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 0SEND_F1",
       lowered1,
       {"rank 0, position 8, 0SEND_F1", "sent already"}},
      {lowered0,
       "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1STEP",
       {"rank 1, position 8, 1SEND_B1", "missing from the list"}},
      // Sent and received twice.
      {"0F0 0SEND_F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1",
       "1RECV_F0 1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1",
       {"this message was sent already"}},
      // Use before arrival, and a send before its computation.
      {lowered0,
       "1F0 1RECV_F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1",
       {"rank 1, position 0, 1F0", "put RECV_F before it"}},
      {"0SEND_F0 0F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1",
       lowered1,
       {"rank 0, position 0, 0SEND_F0", "put it after its F or B"}},
      {"0F0 0SEND_F0 0F1 0SEND_F1 0B0 0RECV_B0 0RECV_B1 0B1", lowered1, {"put RECV_B before it"}},
      // A computation that was lost.
      {"0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0STEP", lowered1, {"0B1", "missing from the list"}}};
  for (const auto& [rank0, rank1, words] : cases) {
    for (const auto& part : words) EXPECT_THAT(first_fault(rank0, rank1), HasSubstr(part)) << rank0 << " | " << rank1;
  }
}

TEST(Verify, FindsASendBeforeItsCompute) {
  const Schedule early = two_ranks("0F0 0SEND_F0 0RECV_B0 0B0", "1RECV_F0 1SEND_B0 1F0 1B0", 1);

  EXPECT_THAT(to_text(verify(early).at(0)),
              AllOf(HasSubstr("rank 1, position 1, 1SEND_B0"), HasSubstr("put it after its F or B")));
}

TEST(Verify, FindsAMessageWithoutAPeer) {
  EXPECT_THAT(first_fault(lowered0, "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1"),
              HasSubstr("no other rank takes part in this message"));
  const Schedule own{"test", {1, 2}, 1, {actions("0F0 0SEND_F0 1RECV_F0 1F0 1B0 0B0")}};
  EXPECT_THAT(to_text(verify(own).at(0)),
              AllOf(HasSubstr("0SEND_F0"), HasSubstr("no other rank takes part in this message")));
}

TEST(Verify, GrowsLinearlyWithTheList) {
  // 2.6 million actions: a quadratic search would exceed the test's time limit.
  EXPECT_TRUE(verify(lower(make_schedule("1f1b", 256, 2048), false)).empty());
}

TEST(Verify, SeveralFindingsAtOnce) {
  Schedule broken = lower(make_schedule("1f1b", 2, 2), false);
  broken.ranks[0].pop_back();                                           // STEP
  broken.ranks[1].push_back({1, ActionType::forward, 7});               // no such microbatch, and after STEP
  broken.ranks[1].insert(broken.ranks[1].begin(), broken.ranks[1][0]);  // received twice

  std::map<Rule, int> rules;
  for (const ListFinding& finding : verify(broken, {.tied = false})) ++rules[finding.rule];

  EXPECT_EQ(rules[Rule::range], 1);
  EXPECT_EQ(rules[Rule::duplicate], 1);
  EXPECT_EQ(rules[Rule::ending], 3);
}

TEST(Verify, ChecksSlotsAndAccumulationOnRequest) {
  const Schedule lowered = lower(make_schedule("1f1b", 3, 4), false);
  EXPECT_TRUE(verify(lowered, {.ascending = true, .slot_limit = 3}).empty());
  const auto slots = verify(lowered, {.slot_limit = 2});
  ASSERT_EQ(slots.size(), 1U);
  EXPECT_THAT(to_text(slots.front()), HasSubstr("rank 0, position 4, 0F2: it opens slot 3 where 2 are allowed"));

  const Schedule backwards = lower({"b", {1, 1}, 2, {actions("0F0 0F1 0B1 0B0")}}, false);
  EXPECT_TRUE(verify(backwards).empty());
  EXPECT_FALSE(accumulates_ascending(backwards));
  EXPECT_EQ(verify(backwards, {.ascending = true}).front().rule, Rule::accumulation);
  const Schedule twice_late = lower({"b", {1, 1}, 3, {actions("0F0 0F1 0F2 0B2 0B0 0B1")}}, false);
  EXPECT_EQ(verify(twice_late, {.ascending = true}).size(), 2U);

  const Schedule split = lower({"b", {1, 1}, 2, {actions("0F0 0I0 0F1 0I1 0W0 0W1")}}, false);
  EXPECT_TRUE(verify(split, {.slot_limit = 2}).empty());
  EXPECT_EQ(verify(split, {.slot_limit = 1}).size(), 1U) << "a slot is free once W has run";
}

TEST(Verify, StopsAfterAHundredFindings) {
  Schedule empty = make_schedule("afab", 4, 100);
  for (ActionList& list : empty.ranks) list.clear();

  EXPECT_EQ(verify(empty).size(), ListFindings::limit);
}

TEST(PeakSlots, SplitBackwardHoldsItsSlotUntilW) {
  EXPECT_EQ(peak_slots(actions("0F0 0I0 0F1 0I1 0W0 0F2 0W1 0B2")), 2);
  EXPECT_EQ(peak_slots(actions("0F0 0B0 0F1 0B1")), 1);
  EXPECT_EQ(peak_slots({}), 0);
}

}  // namespace
}  // namespace plumbline
