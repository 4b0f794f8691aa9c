// SPDX-License-Identifier: BSD-3-Clause
// The judge's only comparison: a step's facts as the candidate recorded them, with the facts that must exist.
#pragma once

#include <initializer_list>
#include <string_view>

#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/facts/expected.hpp"

namespace plumbline::judging {

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
