// SPDX-License-Identifier: BSD-3-Clause
// A difference of facts, as a finding at its point in the execution order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/judge/diff/value_difference.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/facts/expected.hpp"
#include "record/finding.hpp"

namespace plumbline::judging {

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

}  // namespace plumbline::judging
