// SPDX-License-Identifier: BSD-3-Clause
// Calls that may never return, waited for only so long.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

namespace plumbline {

/// Runs each call on a thread of its own, all at once; whether all returned within `limit`. A thread whose call did not
/// is left to itself: everything that the calls use must live until the process ends. They must not throw.
bool call_bounded(std::chrono::milliseconds limit, std::vector<std::function<void()>> calls) noexcept;

}  // namespace plumbline
