// SPDX-License-Identifier: BSD-3-Clause
// Calls with a time limit, for functions that may never return.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

namespace plumbline {

/// Runs each call on its own thread, all at once; returns whether all returned within `limit`. Threads whose calls did
/// not are detached, so everything that the calls use must live until the process ends. The calls must not throw.
bool call_bounded(std::chrono::milliseconds limit, std::vector<std::function<void()>> calls) noexcept;

}  // namespace plumbline
