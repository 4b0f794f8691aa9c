// SPDX-License-Identifier: BSD-3-Clause
// Lists for an evaluation: forward passes only.
#pragma once

#include <cstdint>

#include "schedule/schedule.hpp"

namespace plumbline {

/// Every microbatch through all stages, with the messages between ranks (from `lower`: blocking-safe), without REDUCE
/// and STEP. A rank with several stages runs as many microbatches through one of them as there are ranks before it
/// turns to the next stage, so that activations are sent earlier than stage by stage, and no rank idles while a
/// microbatch is in flight.
Schedule forward_only(const Placement& placement, std::int32_t microbatches);

}  // namespace plumbline
