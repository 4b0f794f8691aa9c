// SPDX-License-Identifier: BSD-3-Clause
// Tests the verifier: every random change to a list is either found by the right rule, or computes the same values.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "schedule/lowering.hpp"
#include "schedule/verifier.hpp"
#include "tests/schedule/integer_model.hpp"
#include "tests/schedule/schedules.hpp"

namespace plumbline {
namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t end) {
  return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}

struct Mutant {
  Schedule schedule;
  std::string kind;
  std::set<Rule> right;  ///< if the list is rejected, one of these must be among the findings
};

Rule rule_of_absence(const Action& action) {
  if (is_compute(action.type)) return Rule::missing;
  return is_communication(action.type) ? Rule::message : Rule::ending;
}

Mutant erase(Schedule schedule, Random& random) {
  ActionList& list = schedule.ranks[below(random, schedule.ranks.size())];
  const auto at = list.begin() + static_cast<std::ptrdiff_t>(below(random, list.size()));
  const Action gone = *at;
  list.erase(at);
  return {std::move(schedule), "delete", {rule_of_absence(gone)}};
}

Mutant duplicate(Schedule schedule, Random& random) {
  ActionList& list = schedule.ranks[below(random, schedule.ranks.size())];
  const Action twice = list[below(random, list.size())];
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(below(random, list.size() + 1)), twice);
  const bool counted = is_compute(twice.type) || is_communication(twice.type);
  return {std::move(schedule), "duplicate", {counted ? Rule::duplicate : Rule::ending}};
}

Mutant swap(Schedule schedule, Random& random) {
  ActionList& list = schedule.ranks[below(random, schedule.ranks.size())];
  const std::size_t here = below(random, list.size());
  // Half of them between neighbors: distant swaps are easy to find.
  const std::size_t there = below(random, 2) == 0 ? below(random, list.size()) : (here + 1) % list.size();
  std::swap(list[here], list[there]);
  return {std::move(schedule),
          "swap",
          {Rule::order, Rule::channel_order, Rule::deadlock, Rule::accumulation, Rule::ending}};
}

Mutant retarget(Schedule schedule, Random& random) {
  ActionList& list = schedule.ranks[below(random, schedule.ranks.size())];
  Action& action = list[below(random, list.size())];
  // W turned into B or I into B: nothing is missing, the input or weight gradient occurs twice.
  std::set<Rule> right = {rule_of_absence(action), Rule::duplicate};
  switch (below(random, 3)) {
    case 0:
      action.stage =
          static_cast<std::int32_t>(below(random, static_cast<std::size_t>(schedule.placement.stages()) + 2));
      break;
    case 1:
      if (action.microbatch == no_microbatch) {
        action.stage += 1;
      } else {
        action.microbatch =
            static_cast<std::int32_t>(below(random, static_cast<std::size_t>(schedule.microbatches) + 2));
      }
      break;
    default:
      action.type = static_cast<ActionType>(below(random, 10));
      // A changed STEP or REDUCE keeps its microbatch; a compute action made of one has none.
      break;
  }
  return {std::move(schedule), "retarget", std::move(right)};
}

std::string listing(const Schedule& schedule) {
  std::string text;
  for (const ActionList& list : schedule.ranks) text += texts(list) + "\n";
  return text;
}

TEST(Mutation, EveryChangeIsRejectedByTheRightRuleOrEquivalent) {
  constexpr int mutants_each = 100;
  struct Figures {
    int mutants = 0, rejected = 0, equivalent = 0, same_list = 0;
  };
  std::map<std::string, Figures> by_schedule, by_kind;
  std::map<std::string, int> by_rule;
  Random random(20261121);
  int total = 0;
  for (const std::string& name : schedule_names()) {
    for (const auto& [ranks, microbatches] :
         std::vector<std::pair<int, int>>{{1, 3}, {2, 4}, {3, 6}, {4, 8}, {4, 12}}) {
      const Schedule lowered = lower(make_schedule(name, ranks, microbatches, default_chunks(name)), true);
      const auto expected = execute(lowered);
      ASSERT_TRUE(expected.has_value()) << name;
      const VerifyOptions options{.tied = true, .ascending = true, .slot_limit = {}};
      ASSERT_TRUE(verify(lowered, options).empty()) << name;
      for (const auto& mutate : {erase, duplicate, swap, retarget}) {
        for (int i = 0; i < mutants_each; ++i) {
          const Mutant mutant = mutate(lowered, random);
          const auto findings = verify(mutant.schedule, options);
          Figures& figures = by_schedule[name];
          Figures& kind = by_kind[mutant.kind];
          ++total, ++figures.mutants, ++kind.mutants;
          if (findings.empty()) {
            ++figures.equivalent, ++kind.equivalent;
            const bool same = mutant.schedule.ranks == lowered.ranks;
            figures.same_list += same;
            kind.same_list += same;
            ASSERT_EQ(execute(mutant.schedule), expected) << name << ' ' << mutant.kind << ": accepted, yet wrong\n"
                                                          << listing(mutant.schedule);
            continue;
          }
          ++figures.rejected, ++kind.rejected;
          std::set<Rule> named;
          for (const ListFinding& finding : findings) named.insert(finding.rule);
          for (const Rule rule : named) ++by_rule[std::string(plumbline::name(rule))];
          const bool right = std::any_of(mutant.right.begin(), mutant.right.end(),
                                         [&](const Rule rule) { return named.contains(rule); });
          ASSERT_TRUE(right) << name << ' ' << mutant.kind << ": " << to_text(findings.front());
        }
      }
    }
  }
  EXPECT_GE(total, 10000);
  const auto print = [](const auto& all) {
    for (const auto& [key, f] : all) {
      std::cout << "  " << key << ": " << f.mutants << " mutants, " << f.rejected << " rejected, " << f.equivalent
                << " accepted and equal (" << f.same_list << " of them the same list)\n";
    }
  };
  std::cout << total << " mutants\n";
  print(by_schedule);
  print(by_kind);
  for (const auto& [rule, count] : by_rule) std::cout << "  rule " << rule << ": " << count << "\n";
  // A test that rejects everything, or nothing, would show nothing.
  EXPECT_GT(by_kind["swap"].equivalent, 100);
  for (const char* kind : {"delete", "duplicate"}) EXPECT_EQ(by_kind[kind].equivalent, 0) << kind;
}

}  // namespace
}  // namespace plumbline
