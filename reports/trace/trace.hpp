// SPDX-License-Identifier: BSD-3-Clause
// A run's actions as trace events for Perfetto or chrome://tracing.
#pragma once

#include <cstdint>
#include <optional>

#include "record/record.hpp"

namespace plumbline {

/// In the Trace Event Format's JSON object form: a process per rank; computations on its first
/// thread, each with its wait, messages on the threads after it, a flow arrow per message, counters for
/// memory. `step`: only that one. Throws InputError if a record has no actions, if an action is unknown, and if
/// a clock ran backwards.
Json trace_of(const Record& record, std::optional<std::int64_t> step = std::nullopt);

}  // namespace plumbline
