// SPDX-License-Identifier: BSD-3-Clause
// The schedule of a case: its lists, what its stages must hold, and the order in which its reference sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/sweep/run_facts.hpp"
#include "schedule/runnable.hpp"

namespace plumbline {

/// Throws InputError unless the run's balance, if it has one, fits the stages and the model. `facts.chunks`: stages on
/// each rank.
void check_balance(const RunFacts& facts, std::int64_t world);

/// The reason why the schedule does not support these sizes, with supported ones; nullopt if it does.
std::optional<std::string> why_not(const std::string& schedule, std::int64_t world, std::int64_t microbatches,
                                   std::int32_t chunks);

/// The case's lists, verified as in the trainer. Throws OtherSizes if the schedule does not support the case's sizes,
/// InputError for a file that is invalid for any.
RunnableSchedule schedule_of(const RunFacts& facts, const std::string& schedule, std::int64_t world);

bool splits_backward(const Schedule& schedule);

/// The reference's order of sums; empty for ascending. Throws InputError if it depends on the layers of each stage,
/// which only the trainer knows.
std::string accumulation_of(const RunFacts& facts, const Schedule& schedule);

}  // namespace plumbline
