// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/execution_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "schedule/lowering.hpp"
#include "schedule/verifier.hpp"
#include "tests/schedule/late_receives.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string safe_models(const Schedule& lowered) {
  std::string safe;
  for (const ExecutionModel model : execution_models) {
    const auto findings = verify(lowered, {.model = model, .tied = true});
    if (findings.empty()) safe += (safe.empty() ? "" : " ") + std::string(name(model));
    for (const ListFinding& finding : findings) EXPECT_EQ(finding.rule, Rule::deadlock) << to_text(finding);
  }
  return safe;
}

TEST(ExecutionModels, AcceptLoweredListsUnderEveryModel) {
  int checked = 0;
  for_each_generated([&](const Schedule& schedule) {
    if (schedule.microbatches > 9) return;
    EXPECT_EQ(safe_models(lower(schedule, true)), "blocking pair pair-direction stream buffered");
    ++checked;
  });
  EXPECT_GT(checked, 400);
}

TEST(ExecutionModels, LateReceivesDeadlockUnderSome) {
  const auto late = [](const char* name, std::int32_t ranks) {
    return safe_models(with_late_receives(lower(make_schedule(name, ranks, 8, default_chunks(name)), true)));
  };
  for (const std::int32_t ranks : {2, 4}) {
    EXPECT_EQ(late("1f1b", ranks), "pair-direction stream buffered") << ranks;
    EXPECT_EQ(late("zb-h1", ranks), "pair-direction stream buffered") << ranks;
  }
  EXPECT_EQ(late("interleaved-1f1b", 4), "pair-direction buffered");
  EXPECT_EQ(late("interleaved-1f1b", 2), "buffered");
  EXPECT_EQ(late("zb-v", 2), "buffered");
  EXPECT_EQ(late("dualpipe-v", 2), "buffered");
}

TEST(ExecutionModels, SpellOutTheCycle) {
  const Schedule late = with_late_receives(lower(make_schedule("1f1b", 2, 3), false));

  const auto findings = verify(late, {.model = ExecutionModel::pair, .tied = false});

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(to_text(findings.front()), AllOf(HasSubstr("under the model pair"), HasSubstr("is queued behind"),
                                               HasSubstr("(rank 0"), HasSubstr("(rank 1"), HasSubstr("same order")));
}

std::string circle_of(const Schedule& lowered, ExecutionModel model) {
  const auto findings = verify(lowered, {.model = model, .tied = false});
  return findings.empty() ? "no circle" : to_text(findings.front());
}

/// Rank 0 needs its first gradient before it sends the second microbatch; the last rank needs both before it sends one.
TEST(ExecutionModels, FindACycleOfComputeActions) {
  const Schedule two{"two",
                     {2, 1},
                     2,
                     {actions("0F0 0SEND_F0 0RECV_B0 0B0 0F1 0SEND_F1 0RECV_B1 0B1 0STEP"),
                      actions("1RECV_F0 1F0 1RECV_F1 1F1 1B0 1SEND_B0 1B1 1SEND_B1 1STEP")}};
  EXPECT_THAT(circle_of(two, ExecutionModel::pair_direction),
              HasSubstr("0B0 (rank 0, position 3) needs 0RECV_B0 (rank 0, position 2), which needs 1SEND_B0 on rank 1, "
                        "which gets there only after 1F1 (rank 1, position 3), which needs 1RECV_F1 (rank 1, position "
                        "2), which needs 0SEND_F1 on rank 0, which gets there only after 0B0 (rank 0, position 3);"));
  EXPECT_THAT(
      circle_of(two, ExecutionModel::buffered),
      HasSubstr("0B0 (rank 0, position 3) needs 1SEND_B0, before which rank 1 must get past 1F1 (rank 1, "
                "position 3), which needs 0SEND_F1, before which rank 0 must get past 0B0 (rank 0, position 3);"));
  for (const ExecutionModel model : execution_models)
    EXPECT_THAT(circle_of(two, model), HasSubstr("under the model " + std::string(name(model))));

  const Schedule three{
      "three",
      {3, 1},
      2,
      {actions("0F0 0SEND_F0 0F1 0SEND_F1 0RECV_B0 0B0 0RECV_B1 0B1 0STEP"),
       actions("1RECV_F0 1F0 1SEND_F0 1RECV_B0 1B0 1SEND_B0 1RECV_F1 1F1 1SEND_F1 1RECV_B1 1B1 1SEND_B1 1STEP"),
       actions("2RECV_F0 2F0 2RECV_F1 2F1 2B0 2SEND_B0 2B1 2SEND_B1 2STEP")}};
  EXPECT_THAT(circle_of(three, ExecutionModel::pair_direction),
              AllOf(HasSubstr("rank 1, position 4, 1B0: "), ::testing::Not(HasSubstr("rank 0"))))
      << "rank 0 waits for the circle and is not in it";
}

TEST(ExecutionModels, NamesAndBack) {
  for (const ExecutionModel model : execution_models) EXPECT_EQ(parse_execution_model(name(model)), model);
  EXPECT_FALSE(parse_execution_model("rendezvous"));
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

}  // namespace
}  // namespace plumbline
