// SPDX-License-Identifier: BSD-3-Clause
// A run's actions as trace events, to be opened in Perfetto or chrome://tracing.
#pragma once

#include <cstdint>
#include <optional>

#include "record/record.hpp"

namespace plumbline {

/// In the Trace Event Format's JSON object form, as docs/trace.md says: a process a rank; computations on its first
/// thread with the wait before each inside it, messages on the threads behind, a flow arrow a message, counters for
/// memory. `step`: only that one. Throws InputError where a record has no actions, where an action is none, and where
/// a clock ran backwards.
Json trace_of(const Record& record, std::optional<std::int64_t> step = std::nullopt);

}  // namespace plumbline
