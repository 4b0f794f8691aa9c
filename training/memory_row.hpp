// SPDX-License-Identifier: BSD-3-Clause
// A step's row of memory.csv.
#pragma once

#include <cstdint>

#include "record/rows.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {

/// Resets the meter's peaks for a new step.
void begin_step_memory(MemoryMeter& meter);
/// The meter's current counts, taken after the step's recorder has released its tensors. `activation_peak_bytes`:
/// maximum over the step's actions.
MemoryRow memory_row(const MemoryMeter& meter, std::int64_t step, std::int64_t activation_peak_bytes);

}  // namespace plumbline
