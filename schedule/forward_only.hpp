// SPDX-License-Identifier: BSD-3-Clause
// Lists for an evaluation: forward passes alone.
#pragma once

#include <cstdint>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Every microbatch through all stages, with the messages between ranks (lower's: blocking-safe), and nothing after. A
/// rank with several stages takes as many microbatches through one of them as there are ranks, before the next stage's:
/// its activations are handed on sooner than stage by stage, and no rank stands idle for a microbatch on its way.
Schedule forward_only(const Placement& placement, std::int32_t microbatches);

}  // namespace plumbline
