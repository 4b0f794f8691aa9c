// SPDX-License-Identifier: BSD-3-Clause
// A record's current step, as facts.
#pragma once

#include "harness/judge/facts/fact.hpp"
#include "record/record.hpp"

namespace plumbline::judging {

/// Sorted by key, then by place. A loss that an external trainer sends to all ranks is one fact, of the last rank with
/// it.
Facts recorded_facts(const Record& record);

/// The facts of both records in a step.
struct StepFacts {
  Facts reference, candidate;
};

/// The facts of one key, or of one column; empty if there are none. `facts`: sorted by key.
FactSpan with_key(const Facts& facts, const Fact& like);
FactSpan of_column(const Facts& facts, Column column);

}  // namespace plumbline::judging
