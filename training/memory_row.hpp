// SPDX-License-Identifier: BSD-3-Clause
// A step's row of memory.csv.
#pragma once

#include <cstdint>

#include "record/rows.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

/// From now on the meter's peaks are the new step's.
void begin_step_memory(MemoryMeter& meter);
/// What the meter counts now, when the step's recorder has let go of all. `activation_peak_bytes`: largest over the
/// step's actions.
MemoryRow memory_row(const MemoryMeter& meter, std::int64_t step, std::int64_t activation_peak_bytes);

}  // namespace plumbline
