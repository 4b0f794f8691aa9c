// SPDX-License-Identifier: BSD-3-Clause
// All forwards, then all backwards (GPipe, arXiv:1811.06965).
#pragma once

#include <cstdint>

#include "schedule/action.hpp"

namespace plumbline {

/// Compute-only list of the rank that holds `stage`, one chunk per rank; backward passes in ascending microbatch order.
/// Peak slots: m.
ActionList afab_list(std::int32_t stage, std::int32_t microbatches);

}  // namespace plumbline
