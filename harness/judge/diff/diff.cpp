// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/diff/diff.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "harness/judge/facts/fact.hpp"

namespace plumbline::judging {
namespace {

class StepDiff {
 public:
  StepDiff(const StepEvidence& now, CheckResultBuilder& builder) : now_(now), builder_(builder) {}

  void run(const Expectations& expected, FactSpan recorded) {
    auto e = expected.begin();
    auto r = recorded.begin();
    while (e != expected.end() || r != recorded.end()) {
      const bool of_expected = r == recorded.end() || (e != expected.end() && e->key() <= r->key());
      const auto key = of_expected ? e->key() : r->key();
      const auto e_end = std::find_if(e, expected.end(), [&](const Fact& fact) { return fact.key() != key; });
      const auto r_end = std::find_if(r, recorded.end(), [&](const Fact& fact) { return fact.key() != key; });
      settle({e, e_end}, {r, r_end});
      e = e_end, r = r_end;
    }
  }

 private:
  using Wanted = std::ranges::subrange<Expectations::const_iterator>;

  /// The facts of one key.
  void settle(const Wanted& wanted, FactSpan found) {
    if (wanted.empty()) {
      for (const Fact& fact : found) report(described_extra(now_, fact));
      return;
    }
    switch (rules_of(wanted.front().column).occurs) {
      case Occurs::placed:
        return settle_by_place(wanted, found);
      case Occurs::one_rank:
        return settle_one(wanted.front(), found);
      case Occurs::every_rank:
        settle_missing_ranks(wanted.front(), found);
        break;
      case Occurs::any_rank:
        if (found.empty()) missing(wanted.front());
        break;
    }
    for (const Fact& fact : found) compare(wanted.front(), fact);
  }

  void settle_by_place(const Wanted& wanted, FactSpan found) {
    std::set<const Fact*> taken;
    for (const Expected& fact : wanted) {
      const auto at = std::ranges::find_if(
          found, [&](const Fact& one) { return one.place == fact.place && !taken.contains(&one); });
      if (at == found.end()) {
        missing(fact);
      } else {
        taken.insert(&*at);
        compare(fact, *at);
      }
    }
    for (const Fact& fact : found)
      if (!taken.contains(&fact)) report(described_extra(now_, fact));
  }

  void settle_one(const Expected& wanted, FactSpan found) {
    if (is_lacking(wanted)) return report(described_lack(now_, wanted));
    if (found.size() == 1) return compare(wanted, found.front());
    if (found.empty() && may_miss(wanted)) return;
    report(described_missing(now_, wanted, std::ssize(found)));
  }

  void settle_missing_ranks(const Expected& wanted, FactSpan found) {
    for (const RankRecord& rank : now_.cell.candidate.ranks) {
      const bool has = std::ranges::any_of(found, [&](const Fact& fact) { return fact.place.rank == rank.rank; });
      if (has || trains_nothing(rank)) continue;
      Expected here = wanted;
      here.place.rank = rank.rank;
      missing(here);
    }
  }

  /// A rank whose parameters are all frozen may have no optimizer.
  bool trains_nothing(const RankRecord& rank) const {
    const Manifest& manifest = now_.cell.candidate.manifest;
    return std::ranges::none_of(
        rank.tensors, [&](const TensorRow& row) { return row.kind == "parameter" && !is_frozen(manifest, row.name); });
  }

  static bool is_lacking(const Expected& wanted) {
    return std::holds_alternative<std::monostate>(wanted.value) && !wanted.value_optional && !wanted.if_either;
  }

  bool may_miss(const Expected& wanted) const {
    if (wanted.if_either) return true;
    const Record& candidate = now_.cell.candidate;
    if (!wanted.place.side.empty()) return excused_end(candidate, wanted.place.side, now_.step);
    return excused(candidate, rules_of(wanted.column).kind, now_.step);
  }

  void missing(const Expected& wanted) {
    if (is_lacking(wanted)) return report(described_lack(now_, wanted));
    if (!may_miss(wanted)) return report(described_missing(now_, wanted, 0));
    if (wanted.if_either && !wanted.value_optional) builder_.inspect(absent_in_both);
  }

  void compare(const Expected& wanted, const Fact& got) {
    if (std::holds_alternative<std::monostate>(wanted.value)) {
      if (!wanted.value_optional) report(described_lack(now_, wanted, &got));
      return;
    }
    count(wanted, got);
    if (auto difference = value_difference(now_, wanted, got, builder_))
      report(described(now_, got, std::move(*difference)));
  }

  void count(const Expected& wanted, const Fact& got) {
    const bool whole = got.column == Column::evaluation && got.microbatch < 0;
    builder_.compare(whole ? "evaluations" : std::string(rules_of(got.column).counted));
    if (const auto* row = std::get_if<const TensorRow*>(&got.value)) {
      builder_.compare("elements", element_count((*row)->shape));
      if (const auto* theirs = std::get_if<const TensorRow*>(&wanted.value))
        builder_.compare("nonzero_elements", (*theirs)->nonzero);
    } else if (const auto* boundary = std::get_if<const BoundaryRow*>(&got.value)) {
      builder_.compare("elements", element_count((*boundary)->shape));
      builder_.compare("bytes", (*boundary)->bytes);
    }
  }

  void report(Described difference) { builder_.diverge(difference.point, std::move(difference.finding)); }

  const StepEvidence& now_;
  CheckResultBuilder& builder_;
};

}  // namespace

void compare_facts(const StepEvidence& now, const Expectations& expected, FactSpan recorded,
                   CheckResultBuilder& builder) {
  StepDiff(now, builder).run(expected, recorded);
}

void compare_columns(const StepEvidence& now, std::initializer_list<Column> columns, CheckResultBuilder& builder) {
  for (const Column column : columns) {
    if (!is_compared(now, column)) continue;
    const Expectations expected = expected_facts(now, column);
    compare_facts(now, expected, of_column(now.facts.candidate, column), builder);
    if (!is_tensor(column)) continue;
    for (const Fact& fact : of_column(now.facts.reference, column)) {
      if (std::ranges::binary_search(expected, fact.key(), {}, [](const Expected& one) { return one.key(); })) continue;
      Described difference = described_extra(now, fact, "reference");
      builder.diverge(difference.point, std::move(difference.finding));
    }
  }
}

void compare_claim(const StepEvidence& now, std::string_view claim, CheckResultBuilder& builder) {
  for (const Column column : all_columns()) {
    const ColumnRules& rules = rules_of(column);
    if (rules.claim == claim && (now.step >= 0 || rules.at_start)) compare_columns(now, {column}, builder);
  }
}

}  // namespace plumbline::judging
