// SPDX-License-Identifier: BSD-3-Clause
// The judge's only comparison: a step's facts as the candidate recorded them, with the facts that must exist. A
// difference becomes a finding at its point in the execution order.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/facts/expected.hpp"
#include "record/finding.hpp"

namespace plumbline::judging {

struct FactDifference {
  std::string expected, got;
  std::string why = {};       ///< "the bits differ"; may be empty
  std::string item = {};      ///< the part that differs, if only a part does: "tokens"
  std::string size = {};      ///< of the difference, by the tables
  std::string look = {};      ///< what the wrong value is, if known
  bool of_reference = false;  ///< the reference's own value is impossible
};

/// nullopt if the values agree. Notes measured margins in the builder.
std::optional<FactDifference> value_difference(const StepEvidence& now, const Expected& expected, const Fact& got,
                                               CheckResultBuilder& builder);

/// "3 NaN and 1 infinity of 64 elements"; empty if the row is finite.
std::string not_finite_words(const TensorRow& row);

struct Described {
  ExecutionPoint point;
  Finding finding;
};

/// The value is not the expected one.
Described described(const StepEvidence& now, const Fact& got, FactDifference difference);
/// The fact is missing, or exists `found` times instead of once.
Described described_missing(const StepEvidence& now, const Expected& expected, std::int64_t found);
/// The reference lacks the fact. `got`: the candidate's, if it has one.
Described described_lack(const StepEvidence& now, const Expected& expected, const Fact* got = nullptr);
/// The run does not imply the fact. `whose`: "reference" if it is not the candidate's.
Described described_extra(const StepEvidence& now, const Fact& fact, const std::string& whose = "");

/// Merges the two by key and adds each difference to the builder: a fact that is missing and not excused, one that
/// nothing implies, and one with another value. Counts what was compared. Both are sorted by key; `expected` has every
/// column of `recorded` that is to be compared.
void compare_facts(const StepEvidence& now, const Expectations& expected, FactSpan recorded,
                   CheckResultBuilder& builder);

/// The same for these columns of the step.
void compare_columns(const StepEvidence& now, std::initializer_list<Column> columns, CheckResultBuilder& builder);

/// The same for all columns of a claim; at the start for those that it has.
void compare_claim(const StepEvidence& now, std::string_view claim, CheckResultBuilder& builder);

/// Name of compare_facts()'s count of expectations that neither record has a fact for.
inline constexpr const char* absent_in_both = "absent_in_both";

}  // namespace plumbline::judging
